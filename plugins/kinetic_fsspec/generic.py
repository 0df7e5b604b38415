"""Any other fsspec driver: as atomic and as exact as the driver is, with one lock for the threads of this process."""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from kinetic_core.plugin import StoredObject
from kinetic_core.wire.names import PART_PREFIX
from kinetic_core.wire.transience import DamagedError
from kinetic_fsspec.bucket import Sink, TakenError

_CHUNK_BYTES: Final = 1 << 20


class FsspecBucket:
    """A folder of an fsspec file system.

    >>> from fsspec.implementations.memory import MemoryFileSystem
    >>> bucket = FsspecBucket(MemoryFileSystem(), "/of-a-docstring", threading.RLock(), atomic=True)
    >>> bucket.put("a*", b"1")
    >>> bucket.holds("a*"), bucket.holds("ab")
    (True, False)
    """

    def __init__(self, system: Any, root: str, lock: threading.RLock, *, atomic: bool) -> None:
        """Open it.

        Args:
            system: An fsspec file system, without a cache of listings.
            root: The folder, as the file system writes it.
            lock: Shared by all on the same file system.
            atomic: Whether a write shows as a whole; else it is made under another name and moved.
        """
        self._system = system
        self._root = root.rstrip("/")
        self._lock = lock
        self._atomic = atomic

    def put(self, name: str, data: bytes, *, writer: str | None = None, only_new: bool = False) -> None:  # noqa: ARG002 - fsspec has no labels
        """Store the bytes at once."""
        path = f"{self._root}/{name}"
        with self._lock:
            if only_new and self._system.exists(path):
                raise TakenError(name)
            self._make_folder(path)
            if self._atomic:
                self._pipe(path, data, only_new=only_new)
                return
            part = f"{path.rpartition('/')[0]}/{PART_PREFIX}{os.urandom(12).hex()}"
            try:
                self._pipe(part, data, only_new=False)
                self._system.mv(part, path)
            except BaseException:
                with suppress(Exception):
                    self._system.rm_file(part)
                raise

    def writer_of(self, name: str) -> str | None:  # noqa: ARG002 - the same
        """Return nothing: fsspec has no labels."""
        return None

    def upload(self, name: str) -> "_Whole":
        """Begin an object that is too large for one request; here it is written as a whole all the same."""
        return _Whole(self, name)

    def get(self, name: str, sink: Sink) -> None:
        """Write the object's bytes to the sink."""
        path = f"{self._root}/{name}"
        with self._lock, self._system.open(path, "rb") as source:
            received = 0
            while chunk := source.read(_CHUNK_BYTES):
                received += len(chunk)
                sink.write(chunk)
        self._compare(path, received)

    def holds(self, name: str) -> bool:
        """Tell whether an object has this name."""
        with self._lock:
            try:
                return bool(self._system.info(f"{self._root}/{name}")["type"] == "file")
            except (FileNotFoundError, NotADirectoryError):
                return False

    def page(self, prefix: str, mark: str) -> tuple[list[StoredObject], str]:  # noqa: ARG002 - all in one page
        """Return all objects whose names start with the prefix."""
        top = f"{self._root}/{prefix}"
        with self._lock:
            try:
                found = self._system.find(top.rstrip("/"), detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return [], ""
        return [
            StoredObject(key=name.removeprefix(f"{self._root}/"), size_bytes=info["size"], modified_s=_seconds(info))
            for name, info in found.items()
            if name.startswith(top)
        ], ""

    def delete(self, names: Sequence[str]) -> None:
        """Delete the objects; absence is no error."""
        with self._lock:
            for name in names:
                path = f"{self._root}/{name}"
                try:
                    self._system.rm_file(path)
                except IsADirectoryError:
                    with suppress(OSError):  # what is in it was not ours to see
                        self._system.rmdir(path)
                except (FileNotFoundError, NotADirectoryError):
                    continue

    def _pipe(self, path: str, data: bytes, *, only_new: bool) -> None:
        try:
            self._system.pipe_file(path, data, **({"mode": "create"} if only_new else {}))
        except FileExistsError as error:
            raise TakenError(path) from error
        self._compare(path, len(data))

    def _compare(self, path: str, size_bytes: int) -> None:
        """Compare sizes: all that fsspec has in common of checksums."""
        stored = self._system.size(path)
        if stored is not None and stored != size_bytes:
            raise DamagedError(f"{size_bytes} bytes went or came, and {stored} are stored")

    def _make_folder(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        if not self._atomic and folder:
            self._system.makedirs(folder, exist_ok=True)


class _Whole:
    """Collects parts in memory."""

    def __init__(self, bucket: FsspecBucket, name: str) -> None:
        self._bucket = bucket
        self._name = name

    def send(self, number: int, data: bytes) -> bytes:  # noqa: ARG002 - they come in order
        return data

    def finish(self, receipts: Sequence[Any]) -> None:
        self._bucket.put(self._name, b"".join(receipts))

    def discard(self) -> None: ...


def _seconds(info: dict[str, Any]) -> float:
    for name in ("mtime", "created", "LastModified", "last_modified"):
        value = info.get(name)
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, datetime):
            return value.timestamp()
    return 0.0
