"""A function that opens a volume at its mount path learns where it is."""

from pathlib import Path

import pytest

from kinetic_runner.mounts import displaced
from tests.unit.kinetic_runner.inprocess import reference

VOLUMES = [reference("file:///s/", mount_path="/data"), reference("file:///t/", mount_path="/mnt//models/")]
POD = {"KINETIC_MOUNT_ROOT": "/pod"}


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (FileNotFoundError(2, "No such file", "/data"), "/pod/data"),
        (FileNotFoundError(2, "No such file", b"/data/a.csv"), "/pod/data/a.csv"),
        (FileNotFoundError(2, "No such file", "//mnt/models/./v1"), "/pod/mnt/models/v1"),
        (FileNotFoundError("/data/a.csv not found."), "/pod/data/a.csv"),
        (FileNotFoundError("no file at '/mnt/models/v1'."), "/pod/mnt/models/v1"),
    ],
)
def test_the_real_place_is_named(error: FileNotFoundError, place: str) -> None:
    (hint,) = displaced(error, VOLUMES, POD)
    assert hint.endswith(f" is {place!r}")


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No such file", "/database"),
        FileNotFoundError(2, "No such file", "/pod/data/a.csv"),
        FileNotFoundError(2, "No such file", 3),
        FileNotFoundError("data/a.csv not found"),
        PermissionError(13, "Permission denied", "/data/a.csv"),
    ],
)
def test_what_lies_elsewhere_is_left_alone(error: Exception) -> None:
    assert displaced(error, VOLUMES, POD) == []


def test_a_relative_path_counts_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    volumes = [reference("file:///s/", mount_path=f"{Path.cwd()}/data")]
    (hint,) = displaced(FileNotFoundError(2, "No such file", "data/a"), volumes, {"KINETIC_MOUNT_ROOT": "/pod"})
    assert hint.endswith(f" is '/pod{Path.cwd()}/data/a'")


def test_where_volumes_are_mounted_or_absent_nothing_is_said() -> None:
    error = FileNotFoundError(2, "No such file", "/data/a.csv")
    assert displaced(error, VOLUMES, {}) == displaced(error, None, POD) == displaced(error, [3], POD) == []
