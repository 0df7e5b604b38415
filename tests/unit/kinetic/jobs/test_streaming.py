"""The log on stdout: each character once, whoever stops and starts."""

import io
import queue
import threading
from collections.abc import Iterator

import pytest

from kinetic.jobs import streaming
from kinetic.jobs.streaming import LogStream, write_out


class Log:
    """A log that grows when the test says so; `None` ends it."""

    def __init__(self) -> None:
        self.pieces: list[str | None] = []
        self.grown = threading.Condition()

    def grow(self, *pieces: str | None) -> None:
        with self.grown:
            self.pieces += pieces
            self.grown.notify_all()

    def read(self) -> Iterator[str]:
        position = 0
        while True:
            with self.grown:
                while len(self.pieces) <= position:
                    self.grown.wait()
                piece = self.pieces[position]
            if piece is None:
                return
            yield piece
            position += 1


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> "queue.Queue[str]":
    pieces: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(streaming, "write_out", pieces.put)
    return pieces


def rest(shown: "queue.Queue[str]") -> str:
    return "".join(shown.get_nowait() for _ in range(shown.qsize()))


def test_all_is_shown_before_finish_returns(shown: "queue.Queue[str]") -> None:
    log = Log()
    log.grow("a\n", "b\n", None)
    stream = LogStream("job-0a1b2c3d", log.read)
    stream.start()
    stream.finish()
    assert rest(shown) == "a\nb\n"


def test_a_stream_that_starts_anew_repeats_nothing(shown: "queue.Queue[str]") -> None:
    log = Log()
    stream = LogStream("job-0a1b2c3d", log.read)
    told = ""
    for text in ("first\n", "second\n", "third\n"):
        log.grow(text)
        stream.start()
        while not told.endswith(text):
            told += shown.get(timeout=30)
        stream.stop()
    log.grow("end\n", None)
    stream.start()
    stream.finish()
    assert told + rest(shown) == "first\nsecond\nthird\nend\n"


def test_a_stopped_stream_shows_no_more(shown: "queue.Queue[str]") -> None:
    log = Log()
    stream = LogStream("job-0a1b2c3d", log.read)
    stream.start()
    stream.stop()
    log.grow("late\n", None)
    for thread in threading.enumerate():
        if thread.name == "kinetic-log-job-0a1b2c3d":
            thread.join(30)
    assert rest(shown) == ""


def test_a_log_that_does_not_end_is_given_up_with_a_warning(
    shown: "queue.Queue[str]", monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(streaming, "GRACE_S", 0.01)
    log = Log()
    stream = LogStream("job-0a1b2c3d", log.read)
    stream.start()
    stream.finish()
    log.grow(None)
    assert "log_stream_lost" in caplog.text


def test_a_slow_reader_of_stdout_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "GRACE_S", 0.01)
    told: list[str] = []
    gate = threading.Event()

    def slow(text: str) -> None:
        gate.wait(30)
        told.append(text)

    monkeypatch.setattr(streaming, "write_out", slow)
    log = Log()
    log.grow("a", "b", None)
    stream = LogStream("job-0a1b2c3d", log.read)
    stream.start()
    threading.Timer(0.2, gate.set).start()
    stream.finish()
    assert told == ["a", "b"]


def test_a_failing_log_is_told_and_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def read() -> Iterator[str]:
        raise ConnectionError("secret text of the log")

    stream = LogStream("job-0a1b2c3d", read)
    stream.start()
    stream.finish()
    assert "ConnectionError" in caplog.text
    assert "secret text" not in caplog.text


def test_characters_that_stdout_does_not_take_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    write_out("é!\n")
    assert raw.getvalue() == b"?!\n"
