"""The log on stdout: each character once, whoever stops and starts."""

import io
import os
import queue
import threading
import warnings
from collections.abc import Iterator

import pytest

from kinetic.jobs import streaming
from kinetic.jobs.streaming import LogStream, write_out
from tests.fakes.threadless import no_more_threads


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
    monkeypatch.setattr(streaming, "_stdout", streaming._Stdout())
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


def test_where_no_thread_can_be_had_all_is_shown_at_the_end(
    shown: "queue.Queue[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log()
    log.grow("a\n")
    stream = LogStream("job-0a1b2c3d", log.read)
    with monkeypatch.context() as full:
        no_more_threads(full)
        stream.start()
    assert rest(shown) == ""
    log.grow("b\n", None)
    stream.finish()
    assert rest(shown) == "a\nb\n"
    stream.finish()
    assert rest(shown) == ""


def test_a_stream_that_starts_anew_repeats_nothing(shown: "queue.Queue[str]") -> None:
    log = Log()
    stream = LogStream("job-0a1b2c3d", log.read)
    told = ""
    for text in ("first\n", "second\n", "third\n"):
        log.grow(text)
        stream.start()
        while not told.endswith(text):
            told += shown.get(timeout=60)
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
            thread.join(60)
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
    begun, gate = threading.Event(), threading.Event()

    def slow(text: str) -> None:
        begun.set()
        gate.wait(60)
        told.append(text)

    def take_more() -> None:
        # From here on nobody is slow but the machine.
        monkeypatch.setattr(streaming, "GRACE_S", 60.0)
        gate.set()

    monkeypatch.setattr(streaming, "write_out", slow)
    log = Log()
    log.grow("a", "b", None)
    stream = LogStream("job-0a1b2c3d", log.read)
    stream.start()
    assert begun.wait(60)
    threading.Timer(0.2, take_more).start()
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


def test_lines_of_several_streams_do_not_run_into_one_another(
    shown: "queue.Queue[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "_LINE_S", 60.0)
    logs = [Log(), Log()]
    streams = [LogStream("job-0a1b2c3d", log.read) for log in logs]
    logs[0].grow("one ")
    streams[0].start()
    assert shown.get(timeout=60) == "one "
    logs[1].grow("two\n", None)
    streams[1].start()
    logs[0].grow("line\n", None)
    for stream in streams:
        stream.finish()
    assert rest(shown) == "line\ntwo\n"


def test_a_line_that_does_not_end_is_waited_for_no_longer_than_a_moment(
    shown: "queue.Queue[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "_LINE_S", 0.01)
    waiting, other = Log(), Log()
    waiting.grow("progress: 1")
    first, second = (LogStream("job-0a1b2c3d", log.read) for log in (waiting, other))
    first.start()
    assert shown.get(timeout=60) == "progress: 1"
    other.grow("two\n", None)
    second.start()
    second.finish()
    assert rest(shown) == "\ntwo\n"
    waiting.grow(None)
    first.finish()


def test_an_unfinished_last_line_holds_nobody_up(shown: "queue.Queue[str]", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_LINE_S", 60)
    for text in ("last words", "next\n"):
        log = Log()
        log.grow(text, None)
        stream = LogStream("job-0a1b2c3d", log.read)
        stream.start()
        stream.finish()
    assert rest(shown) == "last wordsnext\n"


def test_a_fork_made_in_the_midst_of_a_line_can_write(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    with streaming._stdout._free, warnings.catch_warnings():
        # Python 3.12 warns of forks beside threads, of which other tests may have left some.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
        if pid == 0:
            streaming._stdout.write("child\n", object())
            os._exit(0 if out.getvalue() == "child\n" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_what_was_not_shown_yet_is_shown_at_once_when_the_job_has_ended(shown: "queue.Queue[str]") -> None:
    log = Log()
    log.grow("a\n", "b\n", None)
    stream = LogStream("job-0a1b2c3d", log.read)
    stream.show()
    stream.show()
    assert rest(shown) == "a\nb\n"
