"""What a store is asked for: one bucket, single requests, each tried once and checked."""

import asyncio
from collections.abc import Sequence
from typing import BinaryIO, Final, Protocol, runtime_checkable

from kinetic_core.errors import KineticError
from kinetic_core.plugin import StoredObject
from kinetic_fsspec.tally import Tally

WRITER: Final = "kinetic_writer"
"""Name of the label that tells which call wrote an object; a name that every cloud takes."""


class LostPartsError(KineticError):
    """Parts that were sent are gone: cleaned away, or another upload of the same object was quicker."""


class TakenError(KineticError):
    """The key is taken, so nothing was written."""


class Sink(Protocol):
    """Where bytes go; emptied before each attempt."""

    def write(self, data: bytes, /) -> object:
        """Take all of the data."""

    def seek(self, offset: int, /) -> object:
        """Go to a place."""

    def truncate(self) -> object:
        """Forget what lies behind it."""


class Upload(Protocol):
    """An object on its way, in parts that may be sent side by side; invisible until it is finished."""

    def send(self, number: int, data: bytes) -> object:
        """Send a part, numbered from 0; return what `finish` wants to know of it."""

    def finish(self, receipts: Sequence[object]) -> None:
        """Make the parts, in this order, the object; may be called again.

        Raises:
            LostPartsError: They are gone, so all must be sent again.
        """

    def discard(self) -> None:
        """Remove what the upload left beside the object."""


class Bucket(Protocol):
    """A bucket, or a folder in one. Names are exact and relative to it.

    Foreign errors pass through; an absent name is a `FileNotFoundError`.
    """

    def put(self, name: str, data: bytes, *, writer: str | None = None, only_new: bool = False) -> None:
        """Store the bytes at once.

        Args:
            name: Of the object.
            data: All of it.
            writer: What to label it with.
            only_new: Whether to store it only where nothing has that name.

        Raises:
            TakenError: Something has that name.
            DamagedError: The store received other bytes.
        """

    def writer_of(self, name: str) -> str | None:
        """Return the label of an object."""

    def upload(self, name: str) -> Upload:
        """Begin an object that is too large for one request."""

    def get(self, name: str, sink: Sink) -> None:
        """Write the object's bytes to the sink.

        Raises:
            DamagedError: Other bytes arrived than are stored.
        """

    def holds(self, name: str) -> bool:
        """Tell whether an object has this name."""

    def page(self, prefix: str, mark: str) -> tuple[list[StoredObject], str]:
        """Return objects whose names start with the prefix, and where the next page begins; empty at the end.

        Raises:
            FileNotFoundError: There is no such bucket.
        """

    def delete(self, names: Sequence[str]) -> None:
        """Delete the objects, in this order where it matters; absence is no error."""


@runtime_checkable
class LoopBucket(Bucket, Protocol):
    """A bucket whose requests run on an event loop, so that many are under way with no thread for each."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop."""

    async def send(self, name: str, data: bytes) -> None:
        """Store the bytes at once, as `put` does without a label."""


@runtime_checkable
class StreamingBucket(Bucket, Protocol):
    """A bucket that takes a large object in one request more cheaply than in parts."""

    def stream(self, name: str, source: BinaryIO, size_bytes: int, tally: Tally) -> None:
        """Store a file in one request.

        Args:
            name: Of the object.
            source: An open file, that nobody writes to meanwhile.
            size_bytes: Of the file.
            tally: Told of what was sent.

        Raises:
            DamagedError: The store received other bytes.
        """
