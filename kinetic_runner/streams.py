"""stdout and stderr without buffers: what was written before a crash is in the log."""

import io
import os
import sys
from typing import Final, TextIO

_STDOUT: Final = 1
_STDERR: Final = 2


def unbuffer() -> None:
    """Do to this process's stdout and stderr what `python -u` does, unless it was done.

    Where one of the three standard descriptors is closed, it leads nowhere from now on: no file that is opened later
    gets its number, and with it what children and crashes print.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(opened, True)  # noqa: FBT003 - the standard library's own spelling
    os.close(opened)
    sys.stdout = _unbuffered(sys.stdout or _to_descriptor(_STDOUT))
    sys.stderr = _unbuffered(sys.stderr or _to_descriptor(_STDERR))


def _to_descriptor(number: int) -> TextIO:
    return io.TextIOWrapper(io.FileIO(number, "wb", closefd=False), encoding="utf-8", write_through=True)


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
