"""The second process, which packs small files and looks at known ones: what it is asked, and what it answers.

Messages are marshalled values behind their length. Both ends are this very code under this very interpreter; whatever
else happens, one end finds the pipe closed. It imports little, for the second process (see `streams`).
"""

from __future__ import annotations

import os
import sys
from marshal import dumps, loads

from kinetic_core.model.looks import looks
from kinetic_core.packaging.smallfiles import pack
from kinetic_core.packaging.streams import compressor_of, described, module_named, whole_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

LENGTH_BYTES: Final = 8
LOOK: Final = "look"
"""Base and names: answered with what is told of them."""
CONDITIONS: Final = "conditions"
"""What holds for all batches to come; not answered, and the end where it does not hold here."""
PACK: Final = "pack"
"""A batch, and local times not told yet: answered with its pieces."""
_MOST_BYTES: Final = 1 << 30


def serve(reading: int, writing: int) -> None:
    """Answer question after question, until nobody asks any more.

    Args:
        reading: Descriptor that questions come from.
        writing: Descriptor that answers go to.
    """
    packing: Callable[..., Any] | None = None
    while True:
        try:
            kind, *content = receive(reading)
        except EOFError:
            return
        if kind == LOOK:
            send(writing, looks(*content))
        elif kind == CONDITIONS:
            packing = _packing(*content)
        elif packing is not None:
            send(writing, packing(*content))
        else:
            return


def _packing(base: str, library: tuple[str, int, str, str, int], conditions: Any) -> Callable[..., Any] | None:
    """Return what packs a batch; nothing under other conditions than here."""
    module, level, _, _, primed_level = library
    if conditions != conditions_of(described(*library)):
        return None
    compress = whole_stream(compressor_of(module, level, primed_level))
    crc32 = module_named(module).crc32
    moments: dict[int, tuple[int, int]] = {}

    def packing(rows: Any, local_times: dict[int, tuple[int, int]]) -> Any:
        # Local time is the client's, which may differ from what the environment says.
        moments.update(local_times)
        return pack(base, compress, crc32, moments, rows)

    return packing


def conditions_of(codec: str) -> tuple[str, str, str]:
    """Return what has to be the same in both processes: else the bytes, or the files that names mean, would differ.

    Args:
        codec: Its name.

    >>> conditions_of("zlib")[0]
    'zlib'
    """
    return codec, sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()


def message(value: Any) -> bytes:
    """Return a value as it is sent."""
    data = dumps(value)
    return len(data).to_bytes(LENGTH_BYTES, "little") + data


def length_of(head: bytes | bytearray) -> int:
    """Return how long a message is, by what stands before it.

    Raises:
        ValueError: It is no message.

    >>> length_of(message("abc")) == len(message("abc")) - LENGTH_BYTES
    True
    """
    length = int.from_bytes(head[:LENGTH_BYTES], "little")
    if length > _MOST_BYTES:
        raise ValueError(f"a message of {length} bytes")
    return length


def send(descriptor: int, value: Any) -> None:
    """Write one message.

    Raises:
        OSError: The other end is gone.
    """
    rest = memoryview(message(value))
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
    return loads(_read(descriptor, length_of(_read(descriptor, LENGTH_BYTES))))  # noqa: S302 - by the same code, here


def _read(descriptor: int, count: int) -> bytes:
    chunks: list[bytes] = []
    while count:
        chunk = os.read(descriptor, count)
        if not chunk:
            raise EOFError
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)
