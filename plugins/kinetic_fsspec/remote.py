"""Stores that fsspec opens: `memory://` now, object stores as their drivers are hardened."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from kinetic_core.errors import StorageError
from kinetic_core.plugin import StoredObject
from kinetic_fsspec.failures import translated
from kinetic_fsspec.keys import checked_key, checked_prefix
from kinetic_fsspec.parts import write_local


class FsspecStorage:
    """A store on an fsspec file system. One lock makes each operation atomic for the threads of this process.

    >>> from fsspec.implementations.memory import MemoryFileSystem
    >>> store = FsspecStorage(MemoryFileSystem(global_store=False), "memory://store", threading.Lock())
    >>> store.put_bytes(b"1", "a*")
    >>> store.exists("a*"), store.exists("ab")
    (True, False)
    """

    def __init__(self, filesystem: Any, url: str, lock: threading.Lock) -> None:
        """Open the store.

        Args:
            filesystem: An fsspec file system, without a cache of listings.
            url: Of the folder that holds all keys.
            lock: Shared by all stores on the same file system.
        """
        self._filesystem = filesystem
        self._lock = lock
        self.url = url.rstrip("/")
        self._root: str = filesystem._strip_protocol(self.url)  # noqa: SLF001 - fsspec offers no public name for it

    def put_file(self, path: Path, key: str) -> None:
        """Store the file's bytes under the key, replacing what is there."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StorageError(f"cannot read the local file {path}: {error.strerror}") from error
        self.put_bytes(data, key)

    def put_bytes(self, data: bytes, key: str) -> None:
        """Store the bytes under the key, replacing what is there."""
        path = self._path(key)
        with translated("write", self.url_of(key)), self._lock:
            self._filesystem.pipe_file(path, data)

    def put_if_absent(self, data: bytes, key: str) -> bool:
        """Store the bytes unless the key exists; tell whether this call stored them."""
        path = self._path(key)
        with translated("write", self.url_of(key)), self._lock:
            if self._isfile(path):
                return False
            with suppress(FileExistsError):
                self._filesystem.pipe_file(path, data, mode="create")
                return True
        return False

    def get_file(self, key: str, path: Path) -> None:
        """Write the object to the path, whole or not at all."""
        data = self.get_bytes(key)
        write_local(path, lambda part: part.write(data))

    def get_bytes(self, key: str) -> bytes:
        """Return the object's bytes."""
        path = self._path(key)
        with translated("read", self.url_of(key)), self._lock:
            data: bytes = self._filesystem.cat_file(path)
            return data

    def exists(self, key: str) -> bool:
        """Tell whether an object has exactly this key."""
        path = self._path(key)
        with translated("look up", self.url_of(key)), self._lock:
            return self._isfile(path)

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects below the folder `prefix`, sorted by key."""
        folder = checked_prefix(prefix, self.url)
        with translated("list", f"{self.url}/{folder}"), self._lock:
            found = self._below(folder)
        yield from found

    def delete_prefix(self, prefix: str) -> None:
        """Delete the object at this key and all below the folder of that name; absence is no error.

        Raises:
            StorageError: The prefix is empty: a store is never deleted as a whole.
        """
        folder = checked_key(prefix.removesuffix("/"), self.url)
        with translated("delete", self.url_of(folder)), self._lock:
            for key in [*(found.key for found in self._below(folder)), folder]:
                with suppress(FileNotFoundError):
                    self._filesystem.rm_file(f"{self._root}/{key}")

    def url_of(self, key: str) -> str:
        """Return the URL under which the object is fetched."""
        return f"{self.url}/{key}"

    def _path(self, key: str) -> str:
        return f"{self._root}/{checked_key(key, self.url)}"

    def _isfile(self, path: str) -> bool:
        try:
            return bool(self._filesystem.info(path)["type"] == "file")
        except FileNotFoundError:
            return False

    def _below(self, folder: str) -> tuple[StoredObject, ...]:
        top = f"{self._root}/{folder}/" if folder else f"{self._root}/"
        try:
            found = self._filesystem.find(top.rstrip("/"), detail=True)
        except FileNotFoundError:
            return ()
        return tuple(
            StoredObject(key=name.removeprefix(f"{self._root}/"), size_bytes=info["size"], modified_s=_seconds(info))
            for name, info in sorted(found.items())
            if name.startswith(top)
        )


def _seconds(info: dict[str, Any]) -> float:
    for name in ("mtime", "created", "LastModified", "last_modified"):
        value = info.get(name)
        if isinstance(value, int | float):
            return float(value)
    return 0.0
