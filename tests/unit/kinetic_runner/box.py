"""Archives made by hand, and their extraction."""

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetic_runner.workspace import extract
from tests.unit.kinetic_runner.journal import Journal


def entry(name: str, mode: int | None = 0o644, when: tuple[int, ...] = (2021, 5, 6, 7, 8, 10), **more: Any) -> Any:
    """Return the description of an entry; `mode` is that of a Unix creator."""
    info = zipfile.ZipInfo(name, when)  # type: ignore[arg-type]
    info.create_system = 3 if mode is not None else 0
    info.external_attr = (mode or 0) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    for key, value in more.items():
        setattr(info, key, value)
    return info


class Box:
    """A folder with an archive in it, and a workspace beside it."""

    def __init__(self, folder: Path) -> None:
        self.archive = folder / "context.zip"
        self.workspace = folder / "around" / "workspace"
        self.journal = Journal()

    def zip(self, *entries: tuple[Any, bytes | str]) -> "Box":
        """Write the archive."""
        with zipfile.ZipFile(self.archive, "w", zipfile.ZIP_DEFLATED) as archive:
            for info, content in entries:
                archive.writestr(info, content)
        return self

    def patch(self, change: Callable[[bytearray], None]) -> "Box":
        """Change the archive's bytes."""
        data = bytearray(self.archive.read_bytes())
        change(data)
        self.archive.write_bytes(bytes(data))
        return self

    def extract(self, **environ: str) -> Path:
        """Extract, and return the workspace."""
        extract(self.archive, self.workspace, environ=environ, log=self.journal)
        return self.workspace

    def refuse(self, words: str, **environ: str) -> None:
        """Extract, and see it refused without a trace."""
        with pytest.raises(ValueError, match=words):
            self.extract(**environ)
        assert not self.workspace.exists() or not list(self.workspace.rglob("*"))


def mode_of(path: Path) -> int:
    """Return all twelve permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def replace_all(data: bytearray, old: bytes, new: bytes) -> None:
    """Replace bytes in place, same length."""
    assert len(old) == len(new)
    data[:] = data.replace(old, new)
