import hashlib
import os
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic_core.model.blocks import Block
from kinetic_core.model.entry import ArchiveEntry
from kinetic_core.model.listing import Listed
from kinetic_core.packaging import source, writer
from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.scan import scan
from kinetic_core.wire.names import PLAN_PATH
from kinetic_core.wire.plan import Plan, read_plan
from tests.unit.kinetic_core.packaging.archives import (
    LARGE,
    NOISE,
    PLAN,
    TEXT,
    contents,
    infos,
    write,
)
from tests.unit.kinetic_core.packaging.trees import NO_RULES, globs, grow

# Content


def test_every_file_comes_back_byte_for_byte(root: Path, target: Path) -> None:
    files: dict[str, str | bytes] = {
        "a/b.py": "x = 1\n",
        "empty.py": "",
        "noise.bin": NOISE,
        "text.txt": TEXT,
        "日本": "é",
    }
    grow(root, {**files, "back\\slash": "1", "new\nline": "2"})
    written = write(root, target)
    expected = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
    assert contents(written) == {**expected, "back\\slash": b"1", "new\nline": b"2"}
    assert written.findings == ()


def test_the_artifact_knows_size_and_hash_of_the_archive(root: Path, target: Path) -> None:
    grow(root, {"noise.bin": NOISE, "a": "a"})
    artifact = write(root, target).artifact
    data = target.read_bytes()
    assert (artifact.path, artifact.size_bytes) == (target, len(data))
    assert artifact.sha256 == hashlib.sha256(data).hexdigest()


def test_a_listing_is_made_into_bytes_once(root: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(root, {f"f{number}": "x" for number in range(50)})
    found = scan(root, NO_RULES)
    assert found.outline is not None
    assert found.outline.directories.blocks
    made: list[Sequence[Listed]] = []

    def noted(rows: Sequence[Listed]) -> Block:
        made.append(rows)
        return of(rows)

    of = Block.of
    monkeypatch.setattr(Block, "of", noted)
    # As if it had been looked at long after the last change: no row is made anew for being in doubt.
    found = attrs.evolve(found, started_ns=found.started_ns + 10**10)
    written = write_archive(found, Plan(package_root=str(root)), target)
    assert written.snapshot.listing.blocks
    assert made == [found.listing.rows]


def test_the_same_tree_gives_the_same_bytes_whatever_the_order_of_creation(tmp_path: Path) -> None:
    files = {f"d{number % 5}/f{number}": str(number) * number for number in range(60)}
    hashes = []
    for turn in range(2):
        root = tmp_path / f"root{turn}"
        root.mkdir()
        for name in sorted(files, reverse=bool(turn)):
            grow(root, {name: files[name]})
        for directory, _, inside in os.walk(root, topdown=False):
            for name in inside:
                os.utime(Path(directory, name), (1e9, 1e9))
        hashes.append(write(root, tmp_path / f"{turn}.zip").artifact.sha256)
    assert hashes[0] == hashes[1]


def test_names_stand_in_order_with_the_plan_last(root: Path, target: Path) -> None:
    grow(root, {"b": "", ".a": "", "a/z": "", "a/b/": "", "~": ""})
    with zipfile.ZipFile(write(root, target).artifact.path) as opened:
        assert opened.namelist() == [".a", "a/b/", "a/z", "b", "~", PLAN_PATH]


def test_unzip_reads_and_restores_the_archive(root: Path, target: Path, tmp_path: Path) -> None:
    if shutil.which("unzip") is None:
        pytest.skip("unzip is not installed")
    grow(root, {"a/b.py": "x", "noise.bin": NOISE, "text.txt": TEXT, "empty/": "", "naïve.txt": ""})
    (root / "a" / "b.py").chmod(0o750)
    os.utime(root / "a" / "b.py", (1_500_000_000, 1_500_000_000))
    write(root, target)
    subprocess.run(["unzip", "-tq", target], check=True, capture_output=True)
    subprocess.run(["unzip", "-q", target, "-d", tmp_path / "restored"], check=True, capture_output=True)
    restored = tmp_path / "restored"
    assert (restored / "noise.bin").read_bytes() == NOISE
    assert (restored / "text.txt").read_bytes() == TEXT
    assert stat.S_IMODE((restored / "a" / "b.py").stat().st_mode) == 0o750
    assert (restored / "a" / "b.py").stat().st_mtime == 1_500_000_000
    assert (restored / "empty").is_dir()


def test_what_does_not_shrink_is_stored_and_the_rest_deflated(root: Path, target: Path) -> None:
    grow(root, {"noise": NOISE, "text": TEXT, "small-noise": NOISE[:1000], "small-text": TEXT[:1000], "none": ""})
    found = infos(write(root, target))
    assert {name: info.compress_type for name, info in found.items() if name != PLAN_PATH} == {
        "noise": zipfile.ZIP_STORED,
        "text": zipfile.ZIP_DEFLATED,
        "small-noise": zipfile.ZIP_STORED,
        "small-text": zipfile.ZIP_DEFLATED,
        "none": zipfile.ZIP_STORED,
    }
    assert found["text"].compress_size < LARGE / 10


def test_hard_links_and_linked_files_ship_as_plain_files(root: Path, target: Path, tmp_path: Path) -> None:
    grow(root, {"a": "one"})
    grow(tmp_path, {"outside": "two"})
    os.link(root / "a", root / "b")
    (root / "c").symlink_to("../outside")
    written = write(root, target)
    assert contents(written) == {"a": b"one", "b": b"one", "c": b"two"}
    assert {stat.S_IFMT(info.external_attr >> 16) for info in infos(written).values()} == {stat.S_IFREG}


@pytest.mark.slow
def test_seventy_thousand_empty_files_ship(root: Path, target: Path) -> None:
    for folder in range(70):
        first = root / f"{folder:02}" / "0"
        first.parent.mkdir()
        first.touch()
        for number in range(1, 1000):
            # Quicker to make than a file, and a file like any other to the archive.
            os.link(first, f"{first.parent}/{number}")
    write(root, target)
    with zipfile.ZipFile(target) as opened:
        assert len(opened.namelist()) == 70_001
        assert opened.read("69/999") == b""


def test_a_streamed_entry_with_wide_sizes_is_read_by_zipfile_and_unzip(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(root, {"text": TEXT, "noise": NOISE})
    monkeypatch.setattr(writer, "needs_wide_sizes", lambda _: True)
    assert contents(write(root, target)) == {"text": TEXT, "noise": NOISE}
    if shutil.which("unzip") is not None:
        subprocess.run(["unzip", "-tq", target], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_entry_of_more_than_four_gib_ships(root: Path, target: Path) -> None:
    size = (4 << 30) + 12_345
    with (root / "sparse").open("wb") as stream:
        stream.truncate(size)
    (root / "sparse").chmod(0o644)
    written = write(root, target)
    with zipfile.ZipFile(target) as opened, opened.open("sparse") as stream:
        assert opened.getinfo("sparse").file_size == size
        assert stream.read(1000) == bytes(1000)
    assert ArchiveEntry(name="sparse", size_bytes=size, mode=0o644) in written.manifest.entries


# Modes, times, directories


def test_the_mode_of_every_file_is_stored_by_a_unix_creator(root: Path, target: Path) -> None:
    modes = {"plain": 0o644, "script": 0o755, "secret": 0o600, "readonly": 0o444}
    grow(root, dict.fromkeys(modes, "x"))
    for name, mode in modes.items():
        (root / name).chmod(mode)
    written = write(root, target)
    found = infos(written)
    assert {name: found[name].external_attr >> 16 for name in modes} == {
        name: stat.S_IFREG | mode for name, mode in modes.items()
    }
    assert {info.create_system for info in found.values()} == {3}
    assert ArchiveEntry(name="script", size_bytes=1, mode=0o755) in written.manifest.entries


def test_empty_directories_are_stored_with_their_mode(root: Path, target: Path) -> None:
    grow(root, {"a/empty/": ""})
    (root / "a" / "empty").chmod(0o750)
    written = write(root, target)
    info = infos(written)["a/empty/"]
    assert info.is_dir()
    assert info.external_attr >> 16 == stat.S_IFDIR | 0o750
    assert [entry.name for entry in written.manifest.entries] == [PLAN_PATH, "a/empty/"]


def test_times_outside_the_range_of_the_format_are_clamped(root: Path, target: Path) -> None:
    times = {"epoch": 0, "before": -1e9, "future": 7_258_118_400, "usual": 1_600_000_000}
    grow(root, dict.fromkeys(times, "x"))
    for name, moment in times.items():
        os.utime(root / name, (moment, moment))
    found = infos(write(root, target))
    assert found["epoch"].date_time == found["before"].date_time == (1980, 1, 1, 0, 0, 0)
    assert found["future"].date_time[:3] == (2107, 12, 31)
    assert found["usual"].date_time[0] == 2020


# The plan


def test_the_plan_is_the_one_given(root: Path, target: Path) -> None:
    plan = Plan(package_root="/p/é", entry_rel="src", sys_path_rel=("", "src"), excluded={"always": 1})
    write(root, target, plan)
    with zipfile.ZipFile(target) as opened:
        assert read_plan(opened.read(PLAN_PATH)) == (plan, ())


def test_a_projects_own_plan_does_not_get_in_and_its_neighbour_does(root: Path, target: Path) -> None:
    grow(root, {".kinetic/plan.json": "{}", ".kinetic/other.txt": "x"})
    written = write(root, target)
    assert contents(written) == {".kinetic/other.txt": b"x"}
    with zipfile.ZipFile(target) as opened:
        assert read_plan(opened.read(PLAN_PATH))[0] == PLAN


def test_a_tree_whose_everything_is_excluded_gives_the_plan_alone(root: Path, target: Path) -> None:
    grow(root, {"a/b": "", "c": ""})
    written = write_archive(scan(root, globs("*")), PLAN, target)
    assert contents(written) == {}
    assert len(written.manifest.exclusions) == 2


# Its own output


def test_the_archive_never_holds_itself(root: Path) -> None:
    target = root / "context.zip"
    grow(root, {"a": "x", "context.zip": "an older one"})
    written = write(root, target)
    assert contents(written) == {"a": b"x"}
    assert sorted(path.name for path in root.iterdir()) == ["a", "context.zip"]


def test_temporary_output_inside_the_project_does_not_ship(root: Path) -> None:
    grow(root, {"a": "x", "tmp/kinetic-1/payload.pkl": "p"})
    private = root / "tmp" / "kinetic-1"
    written = write_archive(scan(root, NO_RULES, avoid=[private]), PLAN, private / "context.zip")
    assert contents(written) == {"a": b"x", "tmp/": b""}


# Memory


def test_no_piece_larger_than_a_mebibyte_is_ever_read(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(root, {"noise": NOISE, "text": TEXT})
    read: Any = os.read
    sizes: list[int] = []

    def recording(descriptor: int, size: int) -> Any:
        sizes.append(size)
        return read(descriptor, size)

    monkeypatch.setattr(os, "read", recording)
    write(root, target)
    assert max(sizes) == source.CHUNK_BYTES
