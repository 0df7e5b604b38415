"""The second process that packs small files: what it is asked, and what it answers.

Messages are marshalled values behind their length. Both ends are this very code under this very interpreter; whatever
else happens, one end finds the pipe closed.
"""

import marshal
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from kinetic_core.model.listing import Listed
from kinetic_core.packaging.deflate import Codec, find_codec
from kinetic_core.packaging.packing import Changed, Packer, Piece, Run, Unread
from kinetic_core.packaging.zipformat import Member, Moments

_LENGTH_BYTES: Final = 8
_MOST_BYTES: Final = 1 << 30

Plain = tuple[bytes, list[tuple[Any, ...]]] | tuple[int, str, str] | None
"""A run, what kept a file from being read, or that a file changed."""


def serve(reading: int, writing: int) -> None:
    """Pack batch after batch, until nobody asks any more.

    Args:
        reading: Descriptor that batches come from.
        writing: Descriptor that their pieces go to.
    """
    codec, moments = find_codec(), Moments()
    while True:
        try:
            base, conditions, rows, local_times = receive(reading)
        except EOFError:
            return
        if conditions != conditions_of(codec):
            return
        # Local time is the client's, which may differ from what the environment says.
        moments.update(local_times)
        send(writing, list(to_plain(Packer(base=base, codec=codec, moments=moments).pack(rows))))


def conditions_of(codec: Codec) -> tuple[str, ...]:
    """Return what has to be the same in both processes: else the bytes, or the files that names mean, would differ.

    >>> conditions_of(find_codec()) == conditions_of(find_codec())
    True
    """
    return codec.name, sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()


def send(descriptor: int, value: Any) -> None:
    """Write one message.

    Raises:
        OSError: The other end is gone.
    """
    data = marshal.dumps(value)
    rest = memoryview(len(data).to_bytes(_LENGTH_BYTES, "little") + data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def receive(descriptor: int) -> Any:
    """Read one message.

    Raises:
        EOFError: The other end is gone.
        ValueError: It is no message.

    >>> reading, writing = os.pipe()
    >>> send(writing, ("a", 1))
    >>> receive(reading)
    ('a', 1)
    """
    length = int.from_bytes(_read(descriptor, _LENGTH_BYTES), "little")
    if length > _MOST_BYTES:
        raise ValueError(f"a message of {length} bytes")
    return marshal.loads(_read(descriptor, length))  # noqa: S302 - written by the same code, on this machine


def to_plain(pieces: Iterable[Piece]) -> Iterator[Plain]:
    """Yield pieces as marshal takes them."""
    for piece in pieces:
        match piece:
            case Run():
                yield piece.blob, [tuple(member) for member in piece.members]
            case Unread():
                error = piece.error
                yield error.errno or 0, error.strerror or str(error), str(error.filename or "")
            case _:
                yield None


def from_plain(plain: Iterable[Plain], rows: Sequence[Listed]) -> list[Piece]:
    """Return the pieces that `to_plain` was given.

    Args:
        plain: In the order of the rows.
        rows: What was to be packed.

    Raises:
        ValueError: They are no pieces, or not those of these rows.
    """
    pieces: list[Piece] = []
    position = 0
    for one in plain:
        count = 1
        match one:
            case (bytes() as blob, list() as members):
                count = len(members)
                made = list(map(Member._make, members))
                pieces.append(Run(blob, made, list(rows[position : position + count])))
            case (int() as number, str() as text, str() as path):
                pieces.append(Unread(rows[position], OSError(number, text, path)))
            case None:
                pieces.append(Changed(rows[position]))
            case _:
                raise ValueError(f"{one!r:.40} is no piece")
        position += count
    if position != len(rows):
        raise ValueError(f"{position} pieces instead of {len(rows)}")
    return pieces


def _read(descriptor: int, count: int) -> bytes:
    chunks: list[bytes] = []
    while count:
        chunk = os.read(descriptor, count)
        if not chunk:
            raise EOFError
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)
