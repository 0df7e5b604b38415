"""Names that are known, looked at by two processes: it is told what one alone would have told, whatever happens."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic_core.model import blocks
from kinetic_core.model.looks import looks
from kinetic_core.model.trust import RACY_NS
from kinetic_core.packaging import outline, scan, tandem
from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.exchange import Exchange
from kinetic_core.packaging.secondprocess import SecondProcess, own_interpreter
from kinetic_core.packaging.snapshot import Snapshot
from tests.unit.kinetic_core.packaging.archives import PLAN
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow

FILES = {f"d{number % 3}/é{number:02}": "x" for number in range(30)}
BLOCKS = 4 + 30
"""Of one row each: directories, and files."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 1)
    monkeypatch.setattr(scan, "WORTH_A_PROCESS_LOOKS", 1)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return what is looked at in this process."""
    looked: list[bytes] = []

    def noted(base: bytes, names: bytes) -> bytes:
        looked.append(names)
        return looks(base, names)

    monkeypatch.setattr(outline, "looks", noted)
    return looked


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the process beside its time with each block, as long as it answers."""

    def one_by_one(tasks: Iterable[Any], exchange: Exchange) -> Iterator[Any]:
        for task in tasks:
            yield task
            while exchange.is_busy:
                exchange.look(1)

    def in_tandem(tasks: Iterable[Any], work: Any, exchange: Exchange | None) -> Iterator[Any]:
        assert exchange is not None
        return tandem.in_tandem(one_by_one(tasks, exchange), work, exchange)

    monkeypatch.setattr(outline, "in_tandem", in_tandem)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return grow(tmp_path / "root", FILES)


def packaged(root: Path) -> Snapshot:
    """Package as if everything had lain there for long."""
    found = scan.scan(root, NO_RULES)
    found = attrs.evolve(found, started_ns=found.started_ns + 2 * RACY_NS)
    return write_archive(found, PLAN, root.with_name("first.zip")).snapshot


def look(root: Path, earlier: Snapshot, second: SecondProcess) -> scan.Scan:
    try:
        return scan.scan(root, NO_RULES, earlier=earlier, second=second)
    finally:
        second.end()


def edit(root: Path) -> None:
    (root / "d1/é13").write_text("edited")


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("change", [lambda _: None, edit], ids=["nothing", "edit"])
def test_the_process_beside_tells_what_this_one_would(
    root: Path, here: list[bytes], change: Callable[[Path], None]
) -> None:
    earlier = packaged(root)
    change(root)
    found = look(root, earlier, SecondProcess(own_interpreter()))
    assert here == []
    assert found.outline is earlier.outline
    assert found.listing == scan.scan(root, NO_RULES).listing
    assert (found.listing is earlier.listing) == (change is not edit)


def replace_by_fifo(root: Path) -> None:
    (root / "d1/é13").unlink()
    os.mkfifo(root / "d1/é13")


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "d1/new").touch(),
        lambda root: (root / "d1/é13").unlink(),
        replace_by_fifo,
    ],
    ids=["came", "went", "fifo"],
)
def test_what_only_a_scan_can_tell_is_left_to_it(
    root: Path, here: list[bytes], change: Callable[[Path], object]
) -> None:
    earlier = packaged(root)
    times = (root / "d1").stat().st_mtime_ns
    change(root)
    assert (root / "d1").stat().st_mtime_ns != times
    found = look(root, earlier, SecondProcess(own_interpreter()))
    assert here == []
    assert found.outline is not earlier.outline
    assert found.listing == scan.scan(root, NO_RULES).listing


@pytest.mark.usefixtures("patient")
def test_a_link_whose_file_went_is_left_to_the_scan(root: Path, here: list[bytes]) -> None:
    outside = root.with_name("outside")
    outside.touch()
    (root / "link").symlink_to(outside)
    earlier = packaged(root)
    outside.unlink()
    found = look(root, earlier, SecondProcess(own_interpreter()))
    assert here == []
    assert [entry.name for entry in found.skipped] == ["link"]


class Halted(SecondProcess):
    """It is told to stop as soon as it runs."""

    def start(self) -> Exchange | None:
        exchange = super().start()
        assert self.running is not None
        os.kill(self.running.pid, signal.SIGSTOP)
        return exchange


class Killed(SecondProcess):
    """It is killed as soon as it runs."""

    def start(self) -> Exchange | None:
        exchange = super().start()
        assert self.running is not None
        self.running.kill()
        return exchange


@pytest.mark.parametrize("kind", [Halted, Killed])
def test_nothing_depends_on_the_process_beside(root: Path, here: list[bytes], kind: type[SecondProcess]) -> None:
    earlier = packaged(root)
    found = look(root, earlier, kind(own_interpreter()))
    assert found.listing is earlier.listing
    assert len(here) == BLOCKS


ECHO = "#!/bin/sh\ncat\n"
SAYS_NOTHING_OF_EACH = "#!/bin/sh\nwhile :; do printf '\\5\\0\\0\\0\\0\\0\\0\\0s\\0\\0\\0\\0'; done\n"
SAYS_TOO_LITTLE = "#!/bin/sh\nwhile :; do printf '\\7\\0\\0\\0\\0\\0\\0\\0s\\2\\0\\0\\0xx'; done\n"


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("program", [ECHO, SAYS_TOO_LITTLE], ids=["an echo", "too little"])
def test_a_program_that_is_no_interpreter_is_done_without(
    root: Path, here: list[bytes], tmp_path: Path, program: str
) -> None:
    earlier = packaged(root)
    found = look(root, earlier, SecondProcess(str(script(tmp_path, program))))
    assert found.listing is earlier.listing
    assert len(here) == BLOCKS


@pytest.mark.usefixtures("patient")
def test_a_program_that_can_tell_of_nothing_means_a_scan(root: Path, tmp_path: Path) -> None:
    earlier = packaged(root)
    found = look(root, earlier, SecondProcess(str(script(tmp_path, SAYS_NOTHING_OF_EACH))))
    assert found.outline is not earlier.outline
    assert found.listing == earlier.listing


def script(folder: Path, text: str) -> Path:
    program = folder / "program"
    program.write_text(text)
    program.chmod(0o700)
    return program


def test_few_names_are_worth_no_process(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "WORTH_A_PROCESS_LOOKS", len(FILES) + 1)
    second = SecondProcess(own_interpreter())
    found = scan.scan(root, NO_RULES, earlier=packaged(root), second=second)
    assert found.file_count == len(FILES)
    assert second.running is None
