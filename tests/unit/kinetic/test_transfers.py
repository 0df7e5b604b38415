"""What goes to a store and comes from it, shown at a terminal and told elsewhere."""

import logging
import subprocess
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from kinetic import terminal
from kinetic.transfers import transfer
from kinetic_core.errors import StorageError
from kinetic_core.plugin import Progress
from kinetic_fsspec.file import FileStorage
from tests.fakes.holding import own_threads
from tests.fakes.memory_storage import MemoryStorage
from tests.fakes.terminal import at_a_terminal

MEGABYTE: Final = 1_000_000

# Two files of a megabyte, of which the second waits to be let go.
TWO_FILES: Final = """
    import sys, pathlib
    from kinetic.log import apply_environment
    from kinetic.transfers import transfer
    from kinetic_fsspec.file import FileStorage
    import os
    apply_environment(os.environ.get("KINETIC_LOG_LEVEL"))
    pathlib.Path("in").write_bytes(bytes(1_000_000))
    store = FileStorage(pathlib.Path("store").absolute())
    with transfer("upload", "my [bold]data", store, size_bytes=2_000_000, after_s=0) as moving:
        moving.put_file(pathlib.Path("in"), "one")
        sys.stdin.readline()
        print("printed")
        moving.put_file(pathlib.Path("in"), "two")
"""


def ticks(*seconds: float) -> Callable[[], float]:
    times: Iterator[float] = iter(seconds)
    return lambda: next(times)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "in").write_bytes(b"x" * 1000)
    return tmp_path / "in"


@pytest.fixture
def store(tmp_path: Path) -> FileStorage:
    return FileStorage(tmp_path / "store")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """Collect what is logged."""
    told: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.getMessage())

    logger, handler = logging.getLogger("kinetic"), Collecting()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield told
    logger.setLevel(level)
    logger.removeHandler(handler)


def test_what_took_a_second_is_told_in_one_line_without_a_terminal(
    store: FileStorage, path: Path, lines: list[str]
) -> None:
    with transfer("upload", "my data", store, size_bytes=3000, clock=ticks(10.0, 12.5)) as moving:
        for key in ("a", "b", "c"):
            moving.put_file(path, key)
    assert lines == ["upload_finished what='my data' files=3 size_bytes=3000 duration_s=2.5"]
    with transfer("download", "result.pkl", store, size_bytes=None, clock=ticks(0.0, 1.0)) as moving:
        moving.get_file("a", path)
    assert lines[1:] == ["download_finished what='result.pkl' files=1 size_bytes=1000 duration_s=1.0"]


SLOW: Final = """
    import pathlib
    from kinetic.transfers import transfer
    from kinetic_fsspec.file import FileStorage
    {first}
    pathlib.Path("in").write_bytes(bytes(1000))
    times = iter([0.0, 2.5])
    store = FileStorage(pathlib.Path("store").absolute())
    with transfer("upload", "my data", store, size_bytes=1000, clock=lambda: next(times)) as moving:
        moving.put_file(pathlib.Path("in"), "one")
"""
LINE: Final = "kinetic: upload finished (what='my data', files=1, size_bytes=1000, duration_s=2.5)\n"
EVENT: Final = "upload_finished what='my data' files=1 size_bytes=1000 duration_s=2.5\n"


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("", LINE),
        ("import logging; logging.basicConfig()", ""),
        ("import logging; logging.basicConfig(level='INFO', format='%(message)s')", EVENT),
        ("from kinetic.log import enable_logging; enable_logging('warning')", ""),
        ("import sys; sys.stderr.close()", ""),
        ("import sys; sys.stderr = None", ""),
    ],
    ids=["nothing set up", "warnings", "stages", "warnings of ours", "closed", "none"],
)
def test_without_any_logging_the_line_is_for_a_person(tmp_path: Path, first: str, said: str) -> None:
    script = textwrap.dedent(SLOW).format(first=first)
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stderr == said


def test_what_was_quicker_is_not_told(store: FileStorage, path: Path, lines: list[str]) -> None:
    with transfer("upload", "my data", store, size_bytes=1000, clock=ticks(10.0, 10.999)) as moving:
        moving.put_file(path, "a")
    assert lines == []


def test_what_failed_is_told_by_its_exception_alone(store: FileStorage, path: Path, lines: list[str]) -> None:
    with (
        pytest.raises(StorageError),
        transfer("upload", "my data", store, size_bytes=1000, clock=ticks(0.0, 9.0)) as moving,
    ):
        moving.put_file(path.with_name("none"), "a")
    assert lines == []


def test_a_store_that_tells_nothing_is_counted_by_whole_files(path: Path, lines: list[str]) -> None:
    plain = MemoryStorage()
    for direction in ("upload", "download"):
        with transfer(direction, "it", plain, size_bytes=None, clock=ticks(0.0, 2.0)) as moving:
            if direction == "upload":
                moving.put_file(path, "a")
            else:
                moving.get_file("a", path)
    assert [line.partition(" files=")[2] for line in lines] == ["1 size_bytes=1000 duration_s=2.0"] * 2


class BulkyStorage(MemoryStorage):
    """Takes in bulk what is not named otherwise."""

    def put_files(self, files: Mapping[str, Path], *, progress: Progress | None = None) -> Collection[str]:
        self.requests.append(("put_files", " ".join(files)))
        for key, path in files.items():
            if not key.startswith("large"):
                self.objects[key] = (path.read_bytes(), 0.0)
                if progress is not None:
                    progress(path.stat().st_size)
        return [key for key in files if key.startswith("large")]


@pytest.mark.parametrize("others", [[], ["large-1"], ["large-1", "large-2", "large-3"]])
def test_what_a_store_takes_in_bulk_counts_with_the_files_that_it_leaves(
    path: Path, lines: list[str], others: list[str]
) -> None:
    bulky = BulkyStorage()
    files = dict.fromkeys(["a", *others, "b"], path)
    with transfer("upload", "tree", bulky, size_bytes=None, clock=ticks(0.0, 2.0)) as moving:
        moving.put_files(files)
    assert bulky.requests[0] == ("put_files", " ".join(files))
    assert sorted(bulky.requests[1:]) == [("put_file", key) for key in others]
    assert sorted(bulky.objects) == sorted(files)
    count = len(files)
    assert lines == [f"upload_finished what='tree' files={count} size_bytes={count * 1000} duration_s=2.0"]


def test_one_file_and_those_for_a_store_that_takes_nothing_in_bulk_go_alone(path: Path) -> None:
    bulky, plain = BulkyStorage(), MemoryStorage()
    with transfer("upload", "file", bulky, size_bytes=None) as moving:
        moving.put_files({"a": path})
    with transfer("upload", "tree", plain, size_bytes=None) as moving:
        moving.put_files({"a": path, "b": path})
    assert bulky.requests == [("put_file", "a")]
    assert sorted(plain.requests) == [("put_file", "a"), ("put_file", "b")]


def test_a_store_that_does_not_say_what_it_takes_is_told_nothing(path: Path, lines: list[str]) -> None:
    class Opaque(MemoryStorage):
        """Its method is one of the interpreter's own, which has no signature."""

        put_file: Any = property(lambda _: max)

    with transfer("upload", "it", Opaque(), size_bytes=None, clock=ticks(0.0, 2.0)) as moving:
        moving.put_file(path, path)  # type: ignore[arg-type]  # two of a kind, that `max` can compare
    assert lines == ["upload_finished what='it' files=1 size_bytes=1000 duration_s=2.0"]


def test_threads_that_are_adopted_count_as_one_transfer(store: FileStorage, path: Path, lines: list[str]) -> None:
    def one(number: int) -> None:
        with transfer("download", str(number), store, size_bytes=None, clock=ticks(0.0, 5.0)) as moving:
            moving.get_file("a", path.with_name(str(number)))

    store.put_file(path, "a")
    with (
        transfer("download", "results", store, size_bytes=None, clock=ticks(0.0, 3.0)) as moving,
        ThreadPoolExecutor(4, initializer=moving.adopt_thread) as pool,
    ):
        list(pool.map(one, range(20)))
    assert lines == ["download_finished what='results' files=20 size_bytes=20000 duration_s=3.0"]


def test_an_adopted_thread_that_moves_something_of_another_store_tells_of_it(
    store: FileStorage, path: Path, lines: list[str]
) -> None:
    def one() -> None:
        with transfer("upload", "elsewhere", MemoryStorage(), size_bytes=None, clock=ticks(0.0, 5.0)) as moving:
            moving.put_file(path, "a")

    with (
        transfer("upload", "here", store, size_bytes=None, clock=ticks(0.0, 0.5)) as moving,
        ThreadPoolExecutor(1, initializer=moving.adopt_thread) as pool,
    ):
        pool.submit(one).result()
    assert [line.partition(" files=")[0] for line in lines] == ["upload_finished what='elsewhere'"]


def test_at_a_terminal_one_bar_shows_bytes_rate_and_time_left(tmp_path: Path) -> None:
    with at_a_terminal(TWO_FILES, cwd=tmp_path, environ={"KINETIC_LOG_LEVEL": "info"}) as screen:
        screen.wait_for("1.0/2.0 MB")
        screen.go_on()
        out, shown = screen.end()
    assert "upload of my [bold]data" in shown
    assert "2.0/2.0 MB" in shown
    assert "/s" in shown
    assert "0:00:00" in shown
    # One bar, drawn over itself, and no line beside it.
    assert shown.count("\r\n") <= 1
    assert "upload_finished" not in shown
    # What goes elsewhere than to the terminal is left alone.
    assert out == "printed\n"
    assert "printed" not in shown


def test_no_color_is_honoured(tmp_path: Path) -> None:
    shown = {}
    for name, environ in (("plain", {"NO_COLOR": "1"}), ("coloured", {})):
        with at_a_terminal(TWO_FILES, cwd=tmp_path, environ=environ) as screen:
            screen.wait_for("1.0/2.0 MB")
            screen.go_on()
            shown[name] = screen.end()[1]
    assert "\x1b[3" not in shown["plain"].replace("\x1b[3m", "")
    assert "\x1b[38;5;" in shown["coloured"]


@pytest.mark.parametrize(
    ("environ", "told"), [({"KINETIC_LOG_LEVEL": "warning"}, ""), ({"TERM": "dumb"}, "kinetic: upload finished (")]
)
def test_who_wants_no_bar_gets_none(tmp_path: Path, environ: dict[str, str], told: str) -> None:
    with at_a_terminal(TWO_FILES, cwd=tmp_path, environ=environ) as screen:
        screen.go_on()
        out, shown = screen.end()
    assert (out, shown.partition("what=")[0]) == ("printed\n", told)


def test_without_rich_a_terminal_gets_the_line(tmp_path: Path) -> None:
    code = f"    import sys\n    sys.modules['rich.console'] = None{TWO_FILES}"
    with at_a_terminal(code, cwd=tmp_path, environ={"KINETIC_LOG_LEVEL": "info"}) as screen:
        screen.go_on()
        _, shown = screen.end()
    assert "upload_finished what='my [bold]data' files=2 size_bytes=2000000" in shown
    assert "\x1b" not in shown


def test_a_terminal_has_one_display_at_a_time(tmp_path: Path) -> None:
    asking = "from kinetic import terminal; print(terminal.open_console())"
    code = TWO_FILES.replace('print("printed")', asking)
    with at_a_terminal(f"{code}\n    {asking}", cwd=tmp_path, environ={}) as screen:
        screen.wait_for("1.0/2.0 MB")
        screen.go_on()
        during, after = screen.end()[0].splitlines()
    assert during == "None"
    assert after.startswith("<console")


def test_what_is_submitted_at_the_interpreters_end_goes_without_a_bar(tmp_path: Path) -> None:
    code = f"import atexit\n{textwrap.dedent(TWO_FILES)}\n@atexit.register\ndef late():\n"
    code += "    with transfer('upload', 'late', store, size_bytes=None, after_s=0) as moving:\n"
    code += "        moving.put_file(pathlib.Path('in'), 'late')\n"
    with at_a_terminal(code, cwd=tmp_path, environ={}) as screen:
        screen.go_on()
        screen.end()
    assert (tmp_path / "store/late").stat().st_size == MEGABYTE


def test_where_no_stderr_is_nothing_is_drawn(
    store: FileStorage, path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed = (tmp_path / "closed").open("w")
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(sys, "stdout", stream)
        assert not terminal.is_present()
        assert not terminal.draws_stdout_too()
        assert terminal.open_console() is None
        with own_threads() as threads, transfer("upload", "it", store, size_bytes=None, after_s=0.0) as moving:
            assert threads.alive == []
            moving.put_file(path, "a")
