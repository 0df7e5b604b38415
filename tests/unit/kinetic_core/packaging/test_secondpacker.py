import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from kinetic_core.model.listing import Listed
from kinetic_core.packaging import archive, tandem
from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.deflate import find_codec
from kinetic_core.packaging.packing import Changed, Packer, Piece, Unread
from kinetic_core.packaging.scan import scan
from kinetic_core.packaging.secondpacker import SecondPacker
from kinetic_core.packaging.secondprocess import SecondProcess, own_interpreter
from kinetic_core.packaging.zipformat import Moments
from kinetic_core.wire.plan import Plan
from tests.fakes.threadless import no_more_threads
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow

if TYPE_CHECKING:
    import subprocess

FILES = {f"d{number % 7}/ünïcode {number}.py": f"number = {number}\n" * number for number in range(120)}


class Here(Packer):
    """The packer of this process, noting what it packs."""

    packed: ClassVar[list[Listed]] = []

    def pack(self, rows: Sequence[Listed]) -> list[Piece]:
        self.packed.extend(rows)
        return super().pack(rows)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    monkeypatch.setattr(Here, "packed", [])
    return Here(base=f"{tmp_path}/", codec=find_codec(), moments=Moments())


@pytest.fixture
def rows(tmp_path: Path) -> tuple[Listed, ...]:
    return scan(grow(tmp_path, FILES), NO_RULES).listing.rows


def plain(rows: Sequence[Listed], here: Here) -> list[Piece]:
    return Packer(*here).pack(rows)


def patient(second: SecondPacker, rows: Sequence[Listed], size: int = 30) -> Iterator[Sequence[Listed]]:
    """Yield batches, each when the one before is done with."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
        while second._exchange is not None and second._exchange.is_busy:
            second._exchange.look(1)


def packed(second: SecondPacker, batches: Iterator[Sequence[Listed]]) -> list[Piece]:
    return [piece for pieces in second.packed(batches) for piece in pieces]


def joined(pieces: Sequence[Piece]) -> bytes:
    return b"".join(piece.blob for piece in pieces)  # type: ignore[union-attr]  # runs alone are joined


def test_what_another_process_packs_is_what_this_one_would_have(here: Here, rows: tuple[Listed, ...]) -> None:
    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        pieces = packed(second, patient(second, rows))
    assert here.packed == []
    assert joined(pieces) == joined(plain(rows, here))
    assert [row for piece in pieces for row in piece.rows] == list(rows)  # type: ignore[union-attr]


def test_what_cannot_be_read_or_changed_is_told_as_here(here: Here, rows: tuple[Listed, ...], tmp_path: Path) -> None:
    gone, changed = rows[3], rows[5]
    (tmp_path / gone[0]).unlink()
    (tmp_path / changed[0]).write_text("another text")
    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        first, unread, second_run, change, *rest = packed(second, patient(second, rows, size=len(rows)))
    assert here.packed == []
    assert isinstance(unread, Unread)
    assert isinstance(unread.error, FileNotFoundError)
    assert (unread.row, unread.error.filename) == (gone, str(tmp_path / gone[0]))
    assert change == Changed(changed)
    assert [joined([first]), joined([second_run]), joined(rest)] == [
        joined(plain(rows[:3], here)),
        joined(plain(rows[4:5], here)),
        joined(plain(rows[6:], here)),
    ]


def test_local_time_is_that_of_this_process_whatever_the_environment_says(
    here: Here, rows: tuple[Listed, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = joined(plain(rows, here))
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        pieces = packed(second, patient(second, rows))
    assert here.packed == []
    assert joined(pieces) == wanted


def test_the_process_ends_beside_what_is_left_to_do_once_all_is_packed(here: Here, rows: tuple[Listed, ...]) -> None:
    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        process = running(second)
        packed(second, iter([rows]))
        second.finish()
        assert process.wait() == -signal.SIGKILL
    with SecondPacker(here, None) as second:
        second.finish()


def running(second: SecondPacker) -> "subprocess.Popen[bytes]":
    assert second._process is not None
    assert second._process.running is not None
    return second._process.running


def end(second: SecondPacker) -> None:
    running(second).kill()


def halt(second: SecondPacker) -> None:
    os.kill(running(second).pid, signal.SIGSTOP)


@pytest.mark.parametrize("happens", [end, halt])
def test_nothing_is_lost_with_the_other_process_and_nobody_waits_for_it(
    here: Here, rows: tuple[Listed, ...], happens: Callable[[SecondPacker], None]
) -> None:
    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        happens(second)
        pieces = packed(second, iter([rows[start : start + 2] for start in range(0, len(rows), 2)]))
    assert joined(pieces) == joined(plain(rows, here))
    assert sorted(here.packed) == list(rows)


def test_what_it_is_at_in_the_end_is_waited_for_a_moment(
    here: Here, rows: tuple[Listed, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tandem, "_PATIENCE_MS", 60_000)
    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        pieces = packed(second, iter([rows]))
    assert here.packed == []
    assert joined(pieces) == joined(plain(rows, here))


def test_what_was_packed_here_meanwhile_comes_once(
    here: Here, rows: tuple[Listed, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tandem, "_MOST_KEPT", 0)
    monkeypatch.setattr(tandem, "_PATIENCE_MS", 60_000)

    def asleep_at_first() -> Iterator[Sequence[Listed]]:
        halt(second)
        yield rows[:50]
        assert second._exchange is not None
        os.kill(running(second).pid, signal.SIGCONT)
        while second._exchange.is_busy:
            second._exchange.look(1)

    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        pieces = packed(second, asleep_at_first())
    assert here.packed == list(rows[:50])
    assert joined(pieces) == joined(plain(rows[:50], here))


def test_what_was_lost_with_the_other_process_is_packed_here(here: Here, rows: tuple[Listed, ...]) -> None:
    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        end(second)
        pieces = packed(second, patient(second, rows))
    assert joined(pieces) == joined(plain(rows, here))
    assert sorted(here.packed) == list(rows)


SAYS_NONSENSE = "#!/bin/sh\nprintf 'usage: an application of its own, with no such options'\n"
SAYS_NOTHING = "#!/bin/sh\n"
SAYS_WHAT_IT_HEARS = "#!/bin/sh\ncat\n"
SAYS_THAT_THERE_IS_NOTHING = """#!/bin/sh
while :; do printf '\\5\\0\\0\\0\\0\\0\\0\\0[\\0\\0\\0\\0'; done
"""
PROGRAMS = {
    "nonsense": SAYS_NONSENSE,
    "nothing": SAYS_NOTHING,
    "an echo": SAYS_WHAT_IT_HEARS,
    "no pieces": SAYS_THAT_THERE_IS_NOTHING,
    "not there": None,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_is_no_interpreter_is_done_without(
    here: Here, rows: tuple[Listed, ...], tmp_path: Path, program: str | None
) -> None:
    python = tmp_path / "program"
    if program is not None:
        python.write_text(program)
        python.chmod(0o700)
    with SecondPacker(here, SecondProcess(str(python))) as second:
        pieces = packed(second, patient(second, rows))
    assert joined(pieces) == joined(plain(rows, here))
    assert sorted(here.packed) == list(rows)


def test_an_application_that_ends_by_a_broken_pipe_lives_on_without(here: Here, rows: tuple[Listed, ...]) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGPIPE, lambda number, _: heard.append(number))
    try:
        process = SecondProcess(own_interpreter())
        process.start()
        assert process.running is not None
        process.running.kill()
        process.running.wait()
        with SecondPacker(here, process) as second:
            pieces = packed(second, patient(second, rows))
    finally:
        signal.signal(signal.SIGPIPE, before)
    assert heard == []
    assert joined(pieces) == joined(plain(rows, here))


def test_a_name_that_no_program_has_is_done_without(here: Here, rows: tuple[Listed, ...]) -> None:
    with SecondPacker(here, SecondProcess("pyth\0n")) as second:
        assert joined(packed(second, patient(second, rows))) == joined(plain(rows, here))


def test_what_a_script_started_ends_with_it(here: Here, rows: tuple[Listed, ...], tmp_path: Path) -> None:
    script, started = tmp_path / "script", tmp_path / "started"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {started}.new\nmv {started}.new {started}\nwait\n")
    script.chmod(0o700)
    with SecondPacker(here, SecondProcess(str(script))) as second:
        while not started.exists():
            time.sleep(0.001)
        pieces = packed(second, iter([rows[start : start + 2] for start in range(0, len(rows), 2)]))
    assert joined(pieces) == joined(plain(rows, here))
    state = Path(f"/proc/{started.read_text().strip()}/stat")
    while state.exists() and ") Z " not in state.read_text():
        time.sleep(0.001)


def test_no_thread_is_needed(here: Here, rows: tuple[Listed, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        no_more_threads(monkeypatch)
        pieces = packed(second, patient(second, rows))
    assert here.packed == []
    assert joined(pieces) == joined(plain(rows, here))


def test_a_batch_that_no_pipe_holds_at_once_arrives_whole(here: Here, rows: tuple[Listed, ...]) -> None:
    many = rows * 200
    with SecondPacker(here, SecondProcess(own_interpreter())) as second:
        pieces = packed(second, patient(second, many, size=len(many)))
    assert here.packed == []
    assert joined(pieces) == joined(plain(rows, here)) * 200


def test_without_an_interpreter_nothing_is_started(here: Here, rows: tuple[Listed, ...]) -> None:
    for process in (SecondProcess(""), None):
        with SecondPacker(here, process) as second:
            assert second._exchange is None
            assert joined(packed(second, iter([rows]))) == joined(plain(rows, here))


def test_one_that_was_started_ahead_is_used_and_ended(here: Here, rows: tuple[Listed, ...]) -> None:
    process = SecondProcess(own_interpreter())
    process.start()
    ahead = process.running
    assert ahead is not None
    with SecondPacker(here, process) as second:
        assert running(second) is ahead
        pieces = packed(second, patient(second, rows))
    assert here.packed == []
    assert joined(pieces) == joined(plain(rows, here))
    assert ahead.returncode == -signal.SIGKILL
    assert process.running is None


def test_only_many_new_files_are_worth_a_process_and_the_bytes_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    class Noted(SecondPacker):
        def __init__(self, packer: Packer, process: SecondProcess | None) -> None:
            asked.append(process is not None)
            super().__init__(packer, process)

    monkeypatch.setattr(archive, "SecondPacker", Noted)
    root = grow(tmp_path / "root", FILES)
    found, plan = scan(root, NO_RULES), Plan(package_root="/p")

    def write(threads: int, worth: int) -> bytes:
        monkeypatch.setattr(archive, "WORTH_A_PROCESS_FILES", worth)
        return write_archive(found, plan, tmp_path / "a.zip", threads=threads).artifact.path.read_bytes()

    assert len({write(2, 120), write(2, 121), write(1, 0)}) == 1
    assert asked == [True, False, False]
