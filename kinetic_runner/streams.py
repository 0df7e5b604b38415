"""stdout and stderr without buffers: what was written before a crash is in the log."""

import io
import sys
from typing import TextIO


def unbuffer() -> None:
    """Do to this process's stdout and stderr what `python -u` does, unless it was done."""
    sys.stdout = _unbuffered(sys.stdout)
    sys.stderr = _unbuffered(sys.stderr)


def _unbuffered(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream.buffer, io.RawIOBase):
        return stream  # raw already, or replaced by somebody
    stream.flush()
    raw = io.FileIO(stream.fileno(), "wb", closefd=False)
    # The type stub wants a buffer; the interpreter itself builds `-u` streams on a raw file.
    return io.TextIOWrapper(
        raw,
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n",
        write_through=True,
    )
