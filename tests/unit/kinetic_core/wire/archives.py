"""ZIP archives in memory maps."""

import io
import mmap
import zipfile
from collections.abc import Mapping


def zipped(entries: Mapping[str, bytes]) -> bytes:
    """Return an archive of entries, deflated."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def mapped(data: bytes) -> mmap.mmap:
    """Return bytes as a map."""
    made = mmap.mmap(-1, len(data))
    made[:] = data
    return made
