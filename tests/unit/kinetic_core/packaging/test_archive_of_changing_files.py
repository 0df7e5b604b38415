import errno
import os
from pathlib import Path

import pytest

from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.scan import scan
from tests.unit.kinetic_core.packaging.archives import (
    LARGE,
    NOISE,
    PLAN,
    TEXT,
    codes,
    contents,
    while_reading,
    write,
)
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow, unprivileged_folder


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
