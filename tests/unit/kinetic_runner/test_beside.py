"""The second process: what it does is done, what it raises is raised, and it ends before its work is counted on."""

import gc
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from kinetic_runner import entries
from kinetic_runner.beside import answer, beside
from kinetic_runner.inflate import unpacker
from tests.unit.kinetic_runner.box import Box, entry, mode_of


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second process help with every archive."""
    monkeypatch.setattr(entries, "_MANY_FILES", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


def fail(path: Path) -> None:
    path.write_text(str(os.getpid()))
    raise FileExistsError(17, "File exists", str(path))


def test_both_do_their_part(tmp_path: Path) -> None:
    def sign(name: str) -> None:
        (tmp_path / name).write_text(str(os.getpid()))

    with beside(partial(sign, "theirs")):
        sign("mine")
    assert (tmp_path / "mine").read_text() != (tmp_path / "theirs").read_text()


def test_what_the_second_process_raises_is_raised_as_itself(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError) as raised, beside(partial(fail, tmp_path / "theirs")):
        pass
    assert raised.value.filename == str(tmp_path / "theirs")


def test_what_this_process_raises_comes_first_and_the_second_has_ended(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mine"), beside(partial(fail, tmp_path / "theirs")):
        raise ValueError("mine")
    with pytest.raises(ChildProcessError):
        os.waitpid(int((tmp_path / "theirs").read_text()), os.WNOHANG)


def test_a_second_process_that_was_killed_is_an_error() -> None:
    def end() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ChildProcessError, match="ended with -9"), beside(end):
        pass


def test_a_call_that_returns_says_nothing() -> None:
    assert answer(lambda: None, -1) == 0


def test_a_collector_that_was_off_stays_off(box: Box) -> None:
    gc.disable()
    try:
        box.zip(("f", "x")).extract()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_error_goes_into_the_pipe(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    assert answer(partial(fail, tmp_path / "any"), writing) == 1
    with os.fdopen(reading, "rb") as stream:
        assert b"FileExistsError" in stream.read()


@pytest.mark.usefixtures("two_processes")
def test_files_of_both_halves_arrive_with_modes_and_times(box: Box) -> None:
    names = [f"d{number % 7}/f{number}" for number in range(50)]
    box.zip((entry("d1/", 0o40555), ""), *((entry(name, 0o640), name * 20) for name in names))
    workspace = box.extract()
    assert {name: (workspace / name).read_text() for name in names} == {name: name * 20 for name in names}
    assert {mode_of(workspace / name) for name in names} == {0o640}
    assert mode_of(workspace / "d1") == 0o555
    (workspace / "d1").chmod(0o700)


@pytest.mark.usefixtures("two_processes")
@pytest.mark.parametrize("damaged", ["f0", "f49"])
def test_damage_in_either_half_is_told(box: Box, damaged: str) -> None:
    box.zip(*((entry(f"f{number}"), os.urandom(200)) for number in range(50)))

    def change(data: bytearray) -> None:
        data[data.index(damaged.encode()) + len(damaged) + 100] ^= 0xFF

    with pytest.raises(ValueError, match=f"'{damaged}' "):
        box.patch(change).extract()


def test_a_large_file_weighs_more_than_small_ones(box: Box, two_processes: None) -> None:
    box.zip((entry("big"), os.urandom(200_000)), *((entry(f"f{number}"), "") for number in range(10)))
    from mmap import ACCESS_READ, mmap

    from kinetic_runner.ziplist import list_archive

    with box.archive.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
        mine, theirs = entries.halves(entries.plot(list_archive(data)).files)
    assert [path for path, _ in mine] == ["big"]
    assert len(theirs) == 10


@pytest.mark.parametrize("has_cores", [True, False])
def test_one_core_or_few_files_need_no_second_process(monkeypatch: pytest.MonkeyPatch, has_cores: bool) -> None:
    if has_cores:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    else:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert entries.halves([]) == ([], ())


def test_an_image_without_the_faster_library_unpacks_with_the_standard_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetic_runner.inflate._FASTER", "no_such_module")
    assert [unpacker(size).__name__ for size in (1, 1 << 30)] == ["zlib", "zlib"]


def test_the_faster_library_is_not_imported_for_a_small_archive() -> None:
    assert unpacker(1).__name__ == "zlib"
    assert unpacker(1 << 20).__name__ == "isal.isal_zlib"
