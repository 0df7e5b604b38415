"""The second packaging of a tree: what it copies, what it reads again, and what it does not believe."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic_core.findings import Severity
from kinetic_core.model.trust import RACY_NS, trusted
from kinetic_core.packaging import archive, writer
from kinetic_core.packaging.archive import Written, write_archive
from kinetic_core.packaging.deflate import LIBRARIES, find_codec
from kinetic_core.packaging.scan import Scan, scan
from kinetic_core.packaging.snapshot import Snapshot
from kinetic_core.wire.plan import Plan
from tests.unit.kinetic_core.packaging.archives import NOISE, PLAN, TEXT
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow

FILES: dict[str, str | bytes] = {
    "a/b.py": "b" * 500,
    "a/c.py": "c" * 500,
    "noise": NOISE,
    "text": TEXT,
    "z": "z",
    "d/": "",
}


def later(root: Path) -> Scan:
    """Scan as if everything had lain there for long."""
    found = scan(root, NO_RULES)
    return attrs.evolve(found, started_ns=found.started_ns + 2 * RACY_NS)


def first(root: Path, folder: Path, found: Scan | None = None) -> Snapshot:
    """Package, and put the archive where the next packaging does not write."""
    written = write_archive(found or later(root), PLAN, folder / "first.zip")
    return written.snapshot


def cold(root: Path, folder: Path) -> bytes:
    return write_archive(later(root), PLAN, folder / "cold.zip").artifact.path.read_bytes()


class Reads:
    """The files that are opened and the bytes that are read while a tree is packaged."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, below: Path) -> None:
        self.opened: list[str] = []
        real: Any = os.open

        def recording(path: Any, *args: Any, **kwargs: Any) -> Any:
            if str(path).startswith(f"{below}/") and not Path(path).is_dir():
                self.opened.append(os.path.relpath(path, below))
            return real(path, *args, **kwargs)

        monkeypatch.setattr(os, "open", recording)


@pytest.fixture
def reads(root: Path, monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch, root)


def test_when_nothing_changed_nothing_is_read_and_nothing_written(root: Path, target: Path, reads: Reads) -> None:
    earlier = first(grow(root, FILES), target.parent)
    reads.opened.clear()
    written = write_archive(later(root), PLAN, target, earlier=earlier)
    assert written.is_earlier
    assert (written.artifact, written.snapshot, written.findings) == (earlier.artifact, earlier, ())
    assert reads.opened == []
    assert not target.exists()
    assert {entry.name for entry in written.manifest.entries} == {*FILES, ".kinetic/plan.json"}


@pytest.mark.parametrize("edited", ["a/b.py", "z", "noise"])
def test_only_what_changed_is_read(root: Path, target: Path, reads: Reads, edited: str) -> None:
    earlier = first(grow(root, FILES), target.parent)
    grow(root, {edited: "changed"})
    reads.opened.clear()
    written = write_archive(later(root), PLAN, target, earlier=earlier)
    assert reads.opened == [edited]
    assert target.read_bytes() == cold(root, target.parent)
    assert written.artifact.path == target


@pytest.mark.parametrize(("came", "went"), [("a/bb.py", "text"), ("a/bb.py", None), (None, "a/b.py")])
def test_a_file_that_came_or_went_costs_no_other_a_reading(
    root: Path, target: Path, reads: Reads, came: str | None, went: str | None
) -> None:
    earlier = first(grow(root, FILES), target.parent)
    if came is not None:
        grow(root, {came: "new"})
    if went is not None:
        (root / went).unlink()
    reads.opened.clear()
    write_archive(later(root), PLAN, target, earlier=earlier)
    assert reads.opened == ([] if came is None else [came])
    assert target.read_bytes() == cold(root, target.parent)


def test_another_plan_is_put_behind_what_is_copied(root: Path, target: Path, reads: Reads) -> None:
    earlier = first(grow(root, FILES), target.parent)
    plan = Plan(package_root="/elsewhere")
    reads.opened.clear()
    written = write_archive(later(root), plan, target, earlier=earlier)
    assert reads.opened == []
    assert target.read_bytes() != earlier.archive.read_bytes()
    again = write_archive(later(root), plan, target.parent / "cold.zip")
    assert written.artifact.sha256 == again.artifact.sha256


def test_the_snapshot_of_a_copy_serves_the_next_one(root: Path, target: Path, reads: Reads) -> None:
    earlier = first(grow(root, FILES), target.parent)
    grow(root, {"a/b.py": "changed"})
    second = write_archive(later(root), PLAN, target, earlier=earlier).snapshot
    grow(root, {"z": "changed too"})
    reads.opened.clear()
    third = write_archive(later(root), PLAN, target.parent / "third.zip", earlier=second)
    assert reads.opened == ["z"]
    assert third.artifact.path.read_bytes() == cold(root, target.parent)


# Racy timestamps


def test_what_changed_just_before_the_scan_is_read_again_though_nothing_tells_of_a_change(
    root: Path, target: Path, reads: Reads
) -> None:
    grow(root, {"old": "x", "new": "same size"})
    earlier = first(root, target.parent, scan(root, NO_RULES))
    reads.opened.clear()
    written = write_archive(scan(root, NO_RULES), PLAN, target, earlier=earlier)
    assert reads.opened == ["new", "old"]
    assert written.is_earlier
    assert not target.exists()


def test_a_change_that_no_time_tells_of_is_found(root: Path, target: Path) -> None:
    grow(root, {"a": "one", "z": "z"})
    found = scan(root, NO_RULES)
    earlier = first(root, target.parent, found)
    grow(root, {"a": "two"})
    changed = write_archive(scan(root, NO_RULES), PLAN, target.parent / "cold.zip")
    # As if the clock of the file system had not moved on, and the files had looked then as they look now.
    unseen = attrs.evolve(scan(root, NO_RULES), started_ns=found.started_ns)
    forged = attrs.evolve(earlier, listing=trusted(unseen.listing, unseen.started_ns))
    written = write_archive(unseen, PLAN, target, earlier=forged)
    assert written.artifact.sha256 == changed.artifact.sha256
    assert not written.is_earlier


def test_when_what_was_in_doubt_has_settled_it_is_believed_from_then_on(root: Path, target: Path, reads: Reads) -> None:
    grow(root, {"a": "x"})
    earlier = first(root, target.parent, scan(root, NO_RULES))
    settled = write_archive(later(root), PLAN, target, earlier=earlier)
    assert settled.is_earlier
    assert settled.snapshot != earlier
    reads.opened.clear()
    assert write_archive(later(root), PLAN, target, earlier=settled.snapshot).snapshot == settled.snapshot
    assert reads.opened == []


def test_an_edit_soon_after_a_checkout_copies_what_the_edit_left_alone(root: Path, target: Path, reads: Reads) -> None:
    files = {f"f{number}": f"number {number}" for number in range(9)}
    earlier = first(root, target.parent, scan(grow(root, files), NO_RULES))
    (root / "f3").write_text("edited to another length")
    (root / "f5").unlink()
    reads.opened.clear()
    written = write_archive(scan(root, NO_RULES), PLAN, target, earlier=earlier)
    assert sum(copied.entries for copied in written.copied) == 7
    assert sorted(reads.opened) == sorted(files.keys() - {"f5"})
    assert target.read_bytes() == cold(root, target.parent)


def test_a_long_file_in_doubt_is_read_once_for_a_new_archive(root: Path, target: Path, reads: Reads) -> None:
    grow(root, {"text": TEXT})
    earlier = first(root, target.parent, scan(root, NO_RULES))
    reads.opened.clear()
    written = write_archive(later(root), PLAN, target, earlier=earlier)
    assert reads.opened == ["text"]
    assert not written.is_earlier
    assert target.read_bytes() == earlier.archive.read_bytes()


def test_a_file_that_shipped_other_than_listed_is_never_copied(root: Path, target: Path, reads: Reads) -> None:
    found = later(grow(root, {"log": "before", "z": "z"}))
    grow(root, {"log": "after it was listed"})
    written = write_archive(found, PLAN, target)
    assert [finding.code for finding in written.findings] == ["file_changed"]
    reads.opened.clear()
    again = write_archive(later(root), PLAN, target.parent / "again.zip", earlier=written.snapshot)
    assert reads.opened[0] == "log"
    assert "z" not in reads.opened
    assert again.artifact.path.read_bytes() == cold(root, target.parent)


@pytest.mark.parametrize("limit", [0, 2_000, 1 << 32])
def test_what_is_copied_below_and_beyond_the_reach_of_32_bits_has_the_same_records(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    earlier = first(grow(root, FILES), target.parent)
    grow(root, {"a/b.py": "shorter", "text": TEXT * 2, "new": "new"})
    with monkeypatch.context() as patched:
        patched.setattr(writer, "LIMIT_32", limit)
        written = write_archive(later(root), PLAN, target, earlier=earlier)
    assert written.copied
    assert target.read_bytes() == cold(root, target.parent)
    again = write_archive(later(root), PLAN, target.parent / "again.zip", earlier=earlier)
    assert again.snapshot.places == written.snapshot.places


def test_many_files_in_doubt_are_confirmed_like_a_few(root: Path, target: Path, reads: Reads) -> None:
    files = {f"f{number:03}": f"number {number}" for number in range(600)}
    earlier = first(root, target.parent, scan(grow(root, files), NO_RULES))
    (root / "f003").write_text("edited to another length")
    reads.opened.clear()
    written = write_archive(later(root), PLAN, target, earlier=earlier)
    assert sum(copied.entries for copied in written.copied) == 599
    assert sorted(reads.opened) == sorted(files)
    assert target.read_bytes() == cold(root, target.parent)


# What is not used


def flip(place: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int((len(data) - 1) * place)] ^= 4
        path.write_bytes(data)

    return damage


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def replace_by_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def lengthen(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"\0")


@pytest.mark.parametrize("damage", [flip(0), flip(0.3), flip(0.99), flip(1), cut, lengthen, replace_by_fifo])
@pytest.mark.parametrize("edits", [{}, {"z": "changed"}], ids=["unchanged", "edited"])
def test_a_damaged_archive_is_noticed_before_anything_of_it_ships(
    root: Path, target: Path, damage: Callable[[Path], None], edits: dict[str, str | bytes]
) -> None:
    earlier = first(grow(root, FILES), target.parent)
    damage(earlier.archive)
    written = write_archive(later(grow(root, edits)), PLAN, target, earlier=earlier)
    assert not written.is_earlier
    assert target.read_bytes() == cold(root, target.parent)
    assert [(finding.code, finding.severity) for finding in written.findings] == [("snapshot_damaged", Severity.INFO)]


def test_an_archive_that_is_gone_is_not_missed(root: Path, target: Path) -> None:
    earlier = first(grow(root, FILES), target.parent)
    earlier.archive.unlink()
    written = write_archive(later(root), PLAN, target, earlier=earlier)
    assert (written.is_earlier, written.findings) == (False, ())
    assert target.read_bytes() == cold(root, target.parent)


def test_an_archive_that_can_no_longer_be_read_in_the_middle_of_copying_is_done_without(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = first(grow(root, FILES), target.parent)
    grow(root, {"z": "changed"})
    pread: Any = os.pread
    checked = 0

    def failing(descriptor: int, size: int, position: int) -> Any:
        nonlocal checked
        checked += position == 0
        if checked > 1:
            raise OSError(errno.EIO, "Input/output error")
        return pread(descriptor, size, position)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", failing)
        write_archive(later(root), PLAN, target, earlier=earlier)
    assert checked > 1
    assert target.read_bytes() == cold(root, target.parent)
    assert [path.name for path in target.parent.iterdir() if path.name.startswith(".")] == []


def test_an_archive_made_by_another_codec_is_not_mixed_in(root: Path, target: Path, reads: Reads) -> None:
    plain = find_codec([LIBRARIES[-1]])
    other = plain._replace(name="another")
    earlier = write_archive(later(grow(root, FILES)), PLAN, target.parent / "first.zip", codec=other).snapshot
    reads.opened.clear()
    written = write_archive(later(root), PLAN, target, codec=plain, earlier=earlier)
    assert not written.is_earlier
    assert len(reads.opened) == len(FILES) - 1


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be changed here")
def test_an_archive_made_under_another_local_time_is_not_mixed_in(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(root, FILES)
    try:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
        earlier = first(root, target.parent)
        monkeypatch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        write_archive(later(root), PLAN, target, earlier=earlier)
        assert target.read_bytes() == cold(root, target.parent)
    finally:
        monkeypatch.undo()
        time.tzset()


# Threads


@pytest.mark.parametrize("own_thread_from", [0, 1 << 40], ids=["hashing apart", "hashing inline"])
def test_any_number_of_threads_gives_the_same_bytes(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch, own_thread_from: int
) -> None:
    monkeypatch.setattr(archive, "_WORTH_A_THREAD_BYTES", own_thread_from)
    found = later(grow(root, {**FILES, "long": TEXT * 3}))
    made: list[Written] = [
        write_archive(found, PLAN, target.parent / f"{threads}.zip", threads=threads) for threads in (1, 2, 3)
    ]
    assert len({written.artifact.path.read_bytes() for written in made}) == 1
    assert len({written.artifact.sha256 for written in made}) == 1
    assert len({written.snapshot.to_bytes() for written in made}) == 1
