"""Snapshots of archives that nobody packed."""

from pathlib import Path

from kinetic_core.model.blocks import Listing
from kinetic_core.packaging.snapshot import Snapshot


def made(folder: Path, content: bytes = b"zip", sha256: str = "abc") -> Snapshot:
    """Return a snapshot whose archive lies where a packaging wrote it."""
    folder.mkdir(exist_ok=True)
    archive = folder / f"{sha256}-written.zip"
    archive.write_bytes(content)
    return Snapshot(
        archive=archive,
        size_bytes=len(content),
        sha256=sha256,
        crc=1,
        made_by="m",
        plan=b"",
        listing=Listing(),
        directory=0,
        places=(b"", b""),
    )
