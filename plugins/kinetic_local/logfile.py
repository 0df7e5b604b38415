"""Reading a log that is still being written: each byte once, as text."""

import codecs
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

_BLOCK_BYTES: Final = 1 << 16


class LogReader:
    """Reads a log on from where it was last read; undecodable bytes are replaced, a glyph that was split is joined."""

    def __init__(self, path: Path, *, tail: int | None = None) -> None:
        """Look at a log, which may not be there yet.

        Args:
            path: Of the log.
            tail: Begin with only so many last lines.
        """
        self._path = path
        self._tail = tail
        self._stream: BinaryIO | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self) -> Iterator[str]:
        """Yield what was written since."""
        self._stream = self._stream or _open(self._path, self._tail)
        while self._stream is not None and (block := self._stream.read(_BLOCK_BYTES)):
            if text := self._decoder.decode(block):
                yield text

    def rest(self) -> str:
        """Return what stands for the bytes of a glyph that was never finished."""
        return self._decoder.decode(b"", final=True)

    def close(self) -> None:
        """Let go of the file."""
        if self._stream is not None:
            self._stream.close()


def read_log(
    path: Path, *, tail: int | None, ended: Callable[[], bool], pause: Callable[[], None] | None
) -> Iterator[str]:
    """Yield the log's text.

    Args:
        path: The log; it may not be there yet.
        tail: Begin with only so many last lines.
        ended: Tells whether nothing more will be written; asked before each read, so that nothing is missed.
        pause: Waits a moment for more; `None` to stop at what is there now.
    """
    reader = LogReader(path, tail=tail)
    try:
        while True:
            last = ended() or pause is None
            yield from reader.read()
            if last or pause is None:
                break
            pause()
    finally:
        reader.close()
    if rest := reader.rest():
        yield rest


def _open(path: Path, tail: int | None) -> BinaryIO | None:
    try:
        stream = path.open("rb", buffering=0)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if tail is not None:
        stream.seek(_start_of_tail(stream, tail))
    return stream


def _start_of_tail(stream: BinaryIO, lines: int) -> int:
    """Return where the last lines begin, reading the file from its end."""
    end = position = stream.seek(0, os.SEEK_END)
    if lines <= 0:
        return end
    while position > 0:
        size = min(_BLOCK_BYTES, position)
        position -= size
        stream.seek(position)
        block = stream.read(size)
        # The newline that ends the last line starts no further one.
        at = size - 1 if position + size == end and block.endswith(b"\n") else size
        while (at := block.rfind(b"\n", 0, at)) >= 0:
            lines -= 1
            if lines == 0:
                return position + at + 1
    return 0
