import errno
import stat
from pathlib import Path

import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.scan import scan
from tests.fakes.full_disk import full_disk
from tests.unit.kinetic_core.packaging.archives import (
    NOISE,
    PLAN,
    while_reading,
    write,
)
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow


def leftovers(target: Path) -> list[str]:
    return [path.name for path in target.parent.iterdir() if path != target]


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
