import errno
import hashlib
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.findings import Severity
from kinetic_core.model.package import ArchiveEntry
from kinetic_core.packaging import archive, source
from kinetic_core.packaging.archive import Written, write_archive
from kinetic_core.packaging.scan import scan
from kinetic_core.wire.names import PLAN_PATH
from kinetic_core.wire.plan import Plan, read_plan
from tests.unit.kinetic_core.packaging.trees import NO_RULES, globs, grow, unprivileged_folder

PLAN = Plan(package_root="/p")
LARGE = source.CHUNK_BYTES * 2 + 12_345
NOISE = random.Random(7).randbytes(LARGE)
TEXT = (b"def f(x):\n    return x + 1\n" * (LARGE // 20))[:LARGE]


def write(root: Path, target: Path, plan: Plan = PLAN) -> Written:
    return write_archive(scan(root, NO_RULES), plan, target)


def contents(written: Written) -> dict[str, bytes]:
    """Read an archive with zipfile, checking that it is whole, names nothing twice, and ends with our plan."""
    with zipfile.ZipFile(written.artifact.path) as opened:
        assert opened.testzip() is None
        names = opened.namelist()
        assert len(names) == len(set(names))
        assert names[-1] == PLAN_PATH
        assert sorted(names) == [entry.name for entry in written.manifest.entries]
        return {name: opened.read(name) for name in names if name != PLAN_PATH}


def infos(written: Written) -> dict[str, zipfile.ZipInfo]:
    with zipfile.ZipFile(written.artifact.path) as opened:
        return {info.filename: info for info in opened.infolist()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return _made(tmp_path / "root")


def _made(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return _made(tmp_path / "out") / "context.zip"


def leftovers(target: Path) -> list[str]:
    return [path.name for path in target.parent.iterdir() if path != target]


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


def test_the_same_tree_gives_the_same_bytes_whatever_the_order_of_creation(tmp_path: Path) -> None:
    files = {f"d{number % 5}/f{number}": str(number) * number for number in range(60)}
    hashes = []
    for turn in range(2):
        root = _made(tmp_path / f"root{turn}")
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
        first = _made(root / f"{folder:02}") / "0"
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
    monkeypatch.setattr(archive, "needs_wide_sizes", lambda _: True)
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


# Files that change or cannot be read


@contextmanager
def while_reading(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[int], None]) -> Iterator[None]:
    """Do something to a file just before each piece of it is read; the pieces count from 0."""
    read: Any = os.read
    opened: Any = os.open
    watched: set[int] = set()
    count = iter(range(1_000_000))

    def open_file(path: Any, *args: Any, **kwargs: Any) -> Any:
        descriptor = opened(path, *args, **kwargs)
        watched.discard(descriptor)
        if str(path).endswith(name):
            watched.add(descriptor)
        return descriptor

    def read_piece(descriptor: int, size: int) -> Any:
        if descriptor in watched:
            act(next(count))
        return read(descriptor, size)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", open_file)
        patched.setattr(os, "read", read_piece)
        yield


def codes(written: Written) -> list[str]:
    assert all(finding.severity is Severity.WARNING for finding in written.findings)
    return [finding.code for finding in written.findings]


@pytest.mark.parametrize("size", [1000, LARGE])
def test_a_file_that_changes_once_while_it_is_read_is_read_again(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    grow(root, {"a": "before", "log": TEXT[:size], "z": "after"})

    def append_once(piece: int) -> None:
        if piece == 0:
            with (root / "log").open("ab") as stream:
                stream.write(b"more")

    found = scan(root, NO_RULES)
    with while_reading(monkeypatch, "log", append_once):
        written = write_archive(found, PLAN, target)
    assert contents(written) == {"a": b"before", "log": TEXT[:size] + b"more", "z": b"after"}
    assert codes(written) == ["file_changed"]
    assert "'log'" in written.findings[0].message


@pytest.mark.parametrize("size", [1000, LARGE])
def test_a_file_that_keeps_growing_ships_as_last_read_and_comes_to_an_end(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    grow(root, {"log": NOISE[:size], "z": "after"})

    def append(_: int) -> None:
        with (root / "log").open("ab") as stream:
            stream.write(b"more")

    found = scan(root, NO_RULES)
    with while_reading(monkeypatch, "log", append):
        written = write_archive(found, PLAN, target)
    shipped = contents(written)
    assert shipped["log"].startswith(NOISE[:size] + b"more")
    assert (root / "log").read_bytes().startswith(shipped["log"])
    assert shipped["z"] == b"after"
    assert codes(written) == ["file_changed"]


@pytest.mark.parametrize("size", [1000, LARGE])
def test_a_file_that_keeps_shrinking_leaves_a_whole_entry(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    grow(root, {"log": TEXT[:size], "z": "after"})
    found = scan(root, NO_RULES)
    with while_reading(monkeypatch, "log", lambda piece: os.truncate(root / "log", max(0, 500 - 100 * piece))):
        written = write_archive(found, PLAN, target)
    assert TEXT.startswith(contents(written)["log"])
    assert codes(written) == ["file_changed"]


def test_a_file_that_changed_since_it_was_listed_ships_as_read_with_a_warning(root: Path, target: Path) -> None:
    grow(root, {"log": "old", "same": "x"})
    found = scan(root, NO_RULES)
    (root / "log").write_text("old and new")
    written = write_archive(found, PLAN, target)
    assert contents(written) == {"log": b"old and new", "same": b"x"}
    assert codes(written) == ["file_changed"]


def test_a_file_that_vanished_since_it_was_listed_is_skipped(root: Path, target: Path) -> None:
    grow(root, {"a": "1", "gone": "2", "z": "3"})
    found = scan(root, NO_RULES)
    (root / "gone").unlink()
    written = write_archive(found, PLAN, target)
    assert contents(written) == {"a": b"1", "z": b"3"}
    assert codes(written) == ["vanished"]
    assert [entry.name for entry in written.manifest.skipped] == ["gone"]


def test_a_pipe_that_took_a_files_place_is_skipped_without_waiting(root: Path, target: Path) -> None:
    grow(root, {"a": "1", "was": "2"})
    found = scan(root, NO_RULES)
    (root / "was").unlink()
    os.mkfifo(root / "was")
    written = write_archive(found, PLAN, target)
    assert contents(written) == {"a": b"1"}
    assert codes(written) == ["unreadable"]
    assert "no regular file" in written.findings[0].message


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_file_that_fails_while_it_is_read_leaves_no_trace(
    root: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    grow(root, {"a": "1", "bad": NOISE, "z": "3"})
    os.utime(root / "a", (1e9, 1e9))
    os.utime(root / "z", (1e9, 1e9))

    def fail(piece: int) -> None:
        if piece == failing:
            raise OSError(errno.EIO, "Input/output error")

    found = scan(root, NO_RULES)
    with while_reading(monkeypatch, "bad", fail):
        written = write_archive(found, PLAN, target)
    assert contents(written) == {"a": b"1", "z": b"3"}
    assert codes(written) == ["unreadable"]
    (root / "bad").unlink()
    assert write(root, tmp_path / "without.zip").artifact.sha256 == written.artifact.sha256


def test_a_file_that_vanishes_between_two_readings_is_skipped(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(root, {"log": NOISE, "z": "3"})
    found = scan(root, NO_RULES)

    def shrink_and_vanish(piece: int) -> None:
        os.truncate(root / "log", 10) if piece == 0 else None
        (root / "log").unlink(missing_ok=True)

    with while_reading(monkeypatch, "log", shrink_and_vanish):
        written = write_archive(found, PLAN, target)
    assert contents(written) == {"z": b"3"}
    assert codes(written) == ["vanished"]


def test_an_unreadable_file_is_skipped() -> None:
    with unprivileged_folder() as folder:
        grow(folder, {"root/a": "1", "root/closed": "2", "out/": ""})
        (folder / "root" / "closed").chmod(0)
        written = write(folder / "root", folder / "out" / "context.zip")
        assert contents(written) == {"a": b"1"}
        assert codes(written) == ["unreadable"]
        assert "Permission denied" in written.findings[0].message


def test_what_the_scan_skipped_stands_in_the_manifest_too(root: Path, target: Path) -> None:
    grow(root, {"b": "x"})
    (root / "c-broken").symlink_to("nowhere")
    found = scan(root, NO_RULES)
    (root / "b").unlink()
    written = write_archive(found, PLAN, target)
    assert [entry.name for entry in written.manifest.skipped] == ["b", "c-broken"]
    assert codes(written) == ["vanished"]


# Failures


@contextmanager
def full_disk(limit_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a limit, which fails a write as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("files", [{"noise": NOISE}, {"small": NOISE[:100_000]}])
def test_a_full_disk_is_an_error_that_leaves_nothing_behind(root: Path, target: Path, files: dict[str, bytes]) -> None:
    grow(root, files)
    target.write_text("an older one")
    with full_disk(50_000), pytest.raises(PackagingError, match=r"context\.zip") as caught:
        write(root, target)
    assert isinstance(caught.value.__cause__, OSError)
    assert leftovers(target) == []
    assert target.read_text() == "an older one"


def test_a_disk_that_fills_up_while_a_failed_file_is_taken_back_is_an_error_too(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(root, {"a": NOISE[:100_000], "bad": "x"})

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with while_reading(monkeypatch, "bad", fail), full_disk(50_000), pytest.raises(PackagingError):
        write(root, target)
    assert leftovers(target) == []


def test_a_missing_directory_for_the_archive_is_an_error(root: Path, tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match="No such file"):
        write(root, tmp_path / "missing" / "context.zip")


def test_an_interrupted_writing_leaves_nothing_behind(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(root, {"noise": NOISE})

    def interrupt(piece: int) -> None:
        if piece == 1:
            raise KeyboardInterrupt

    found = scan(root, NO_RULES)
    with while_reading(monkeypatch, "noise", interrupt), pytest.raises(KeyboardInterrupt):
        write_archive(found, PLAN, target)
    assert list(target.parent.iterdir()) == []


def test_a_target_that_is_a_directory_is_an_error_that_leaves_nothing_behind(root: Path, target: Path) -> None:
    target.mkdir()
    with pytest.raises(PackagingError):
        write(root, target)
    assert leftovers(target) == []


def test_the_archive_is_private(root: Path, target: Path) -> None:
    write(root, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


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
