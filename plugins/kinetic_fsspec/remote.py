"""Stores behind an fsspec driver: keys, retries, and files of any size, over what one bucket can do."""

import os
from collections.abc import Collection, Iterator, Mapping, MutableSequence, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

import attrs

from kinetic_core.plugin import Progress, StoredObject
from kinetic_core.wire.names import PART_PREFIX
from kinetic_core.wire.transience import DamagedError
from kinetic_fsspec.bucket import Bucket, LoopBucket, Sink, StreamingBucket, TakenError
from kinetic_fsspec.keys import checked_key, checked_prefix
from kinetic_fsspec.parts import LocalSink, write_local
from kinetic_fsspec.retries import Retries
from kinetic_fsspec.small import put_small
from kinetic_fsspec.sources import source
from kinetic_fsspec.tally import Tally
from kinetic_fsspec.uploads import PART_BYTES, upload_in_parts

WHOLE_BYTES: Final = 2 * PART_BYTES
"""What is not larger goes in one request."""
STREAMED_BYTES: Final = 1 << 30
"""What is not larger goes in one request at first, where that costs the store less than parts do."""
_DELETED_AT_ONCE: Final = 1000


def _without_slash(url: str) -> str:
    return url.rstrip("/")


@attrs.define(kw_only=True, eq=False)
class RemoteStorage:
    """A store on a bucket."""

    url: str = attrs.field(converter=_without_slash)
    bucket: Bucket = attrs.field(repr=False)
    retries: Retries = attrs.field(repr=False)
    streamed_bytes: int = attrs.field(default=STREAMED_BYTES, repr=False)

    def put_file(self, path: Path, key: str, *, progress: Progress | None = None) -> None:
        """Store the file's bytes under the key, replacing what is there; told of is each request that is done."""
        name, where, tally = self._name(key), self.url_of(key), Tally(progress)
        with source(path) as stream:
            size_bytes = os.fstat(stream.fileno()).st_size
            data = stream.read() if size_bytes <= WHOLE_BYTES else None
            if data is None:
                self._put_large(stream, size_bytes, name, where, tally)
        if data is not None:
            self._put(data, name, where)
            tally.add(len(data))

    def put_files(self, files: Mapping[str, Path], *, progress: Progress | None = None) -> Collection[str]:
        """Store those files that are small, many with little work for each; return the keys of the others."""
        if not isinstance(self.bucket, LoopBucket):
            return files.keys()
        named = [(key, self._name(key), path) for key, path in files.items()]
        return put_small(self.bucket, self.retries, named, url_of=self.url_of, tally=Tally(progress))

    def put_bytes(self, data: bytes, key: str) -> None:
        """Store the bytes under the key, replacing what is there."""
        name, where = self._name(key), self.url_of(key)
        if len(data) <= WHOLE_BYTES:
            self._put(data, name, where)
        else:
            self._put_large(BytesIO(data), len(data), name, where, Tally(None))

    def put_if_absent(self, data: bytes, key: str) -> bool:
        """Store the bytes unless the key exists; tell whether this call stored them."""
        name, where, writer = self._name(key), self.url_of(key), os.urandom(16).hex()

        damaged = False

        def put(_attempt: int) -> bool:
            nonlocal damaged
            try:
                self.bucket.put(name, data, writer=writer, only_new=True)
            except DamagedError:
                damaged = True
                raise
            except TakenError:
                # Perhaps by this very call, when only an answer was lost or the bytes were altered: of an earlier
                # attempt, or of the same, as the libraries below send once more by themselves on a used connection.
                if not self._is_ours(name, writer):
                    return False
                if damaged:
                    self.bucket.put(name, data, writer=writer)
            return True

        return self.retries("write", where, put)

    def get_file(self, key: str, path: Path, *, progress: Progress | None = None) -> None:
        """Write the object to the path, whole or not at all."""
        name, where = self._name(key), self.url_of(key)

        def fetch(part: BinaryIO) -> None:
            sink = LocalSink(part, path, Tally(progress))
            self.retries("read", where, lambda _: self._get(name, sink))

        write_local(path, fetch)

    def get_bytes(self, key: str) -> bytes:
        """Return the object's bytes."""
        name, sink = self._name(key), BytesIO()
        self.retries("read", self.url_of(key), lambda _: self._get(name, sink))
        return sink.getvalue()

    def exists(self, key: str) -> bool:
        """Tell whether an object has exactly this key."""
        name = self._name(key)
        return self.retries("look up", self.url_of(key), lambda _: self.bucket.holds(name))

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects below the folder `prefix`, sorted by key."""
        folder = checked_prefix(prefix, self.url)
        for found in self._below(folder):
            # Consoles mark empty folders so; and parts are what an upload has not finished.
            if not found.key.endswith("/") and PART_PREFIX not in found.key:
                yield found

    def delete_prefix(self, prefix: str) -> None:
        """Delete the object at this key and all below the folder of that name; absence is no error.

        Raises:
            StorageError: The prefix is empty: a store is never deleted as a whole.
        """
        folder = checked_key(prefix.removesuffix("/"), self.url)
        # What lies in a folder goes before the folder, where that is an object of its own.
        names = (*(found.key for found in reversed(self._below(folder))), folder)
        for start in range(0, len(names), _DELETED_AT_ONCE):
            self._delete(names[start : start + _DELETED_AT_ONCE], self.url_of(folder))

    def url_of(self, key: str) -> str:
        """Return the URL under which the object is fetched."""
        return f"{self.url}/{key}"

    def _name(self, key: str) -> str:
        return checked_key(key, self.url)

    def _put(self, data: bytes, name: str, where: str) -> None:
        self.retries("write", where, lambda _: self.bucket.put(name, data))

    def _put_large(self, stream: BinaryIO, size_bytes: int, name: str, where: str, tally: Tally) -> None:
        bucket = self.bucket
        if isinstance(bucket, StreamingBucket) and size_bytes <= self.streamed_bytes:
            if self.retries.goes_well("write", where, lambda: bucket.stream(name, stream, size_bytes, tally)):
                return
            # Over a poor line only parts arrive, each of which goes again by itself.
            tally.start_over()
        upload_in_parts(self.bucket, self.retries, stream, size_bytes=size_bytes, name=name, where=where, tally=tally)

    def _get(self, name: str, sink: Sink) -> None:
        sink.seek(0)
        sink.truncate()
        self.bucket.get(name, sink)

    def _is_ours(self, name: str, writer: str) -> bool:
        try:
            return self.bucket.writer_of(name) == writer
        except FileNotFoundError:
            return False

    def _below(self, folder: str) -> tuple[StoredObject, ...]:
        found: MutableSequence[StoredObject] = []
        mark: str | None = ""
        while mark is not None:
            page, mark = self._page(folder, mark)
            found.extend(page)
        return tuple(sorted(found, key=lambda one: one.key))

    def _page(self, folder: str, mark: str) -> tuple[Sequence[StoredObject], str | None]:
        prefix = f"{folder}/" if folder else ""
        page, onwards = self.retries("list", f"{self.url}/{folder}", lambda _: self.bucket.page(prefix, mark))
        return page, onwards or None

    def _delete(self, names: tuple[str, ...], where: str) -> None:
        self.retries("delete", where, lambda _: self.bucket.delete(names))
