"""Bodies of requests that are read while they are sent."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import BinaryIO, Final

_PIECE_BYTES: Final = 1 << 20


class Body:
    """A file as a request's body: for botocore a file, and for aiohttp pieces, which it would read smaller by itself.

    >>> from io import BytesIO
    >>> Body(BytesIO(b"abc"), 3).read()
    b'abc'
    """

    def __init__(
        self, source: BinaryIO, size_bytes: int, taken: Callable[[bytes], Awaitable[None]] | None = None
    ) -> None:
        """Take note of the file, from its beginning.

        Args:
            source: An open file.
            size_bytes: How much of it is sent.
            taken: Awaited with each piece that the peer took.
        """
        source.seek(0)
        self._source = source
        self._size_bytes = size_bytes
        self._taken = taken

    def __len__(self) -> int:
        """Return how much of it is sent."""
        return self._size_bytes

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        return self._source.read(size)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a place."""
        return self._source.seek(offset, whence)

    def tell(self) -> int:
        """Return the place."""
        return self._source.tell()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the file piece by piece.

        Raises:
            EOFError: It became shorter; the peer would wait for the rest.
        """
        self._source.seek(0)
        left = self._size_bytes
        while left:
            piece = self._source.read(min(left, _PIECE_BYTES))
            if not piece:
                raise EOFError
            left -= len(piece)
            yield piece
            if self._taken is not None:
                await self._taken(piece)
