"""Storage: where artifacts lie between client and pod."""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import attrs

from kinetic_core.plugin.context import DriverContext
from kinetic_core.plugin.fields import are_texts, is_text, texts

Progress: TypeAlias = Callable[[int], None]
"""Told how many bytes of a file have moved since it was told last; fewer than none where some have to move again.

Calls may come from any thread, also from several at once, and must not take long.
"""


@attrs.frozen(kw_only=True)
class StoredObject:
    """One object of a listing."""

    key: str
    """Relative to the store's URL, `/`-separated."""
    size_bytes: int
    modified_s: float = 0.0
    """Seconds since the epoch; 0 where the store does not tell."""


class Storage(Protocol):
    """A store opened at a URL. Keys are exact: no character in them is a pattern.

    Every write is atomic for a reader. What is transient is retried with back-off and jitter; a refusal
    (403) or an absence (404) is not. Failures are `StorageError`; a missing key is `ObjectNotFoundError`.
    """

    url: str
    """Without a trailing slash."""

    def put_file(self, path: Path, key: str) -> None:
        """Store the file's bytes under the key, replacing what is there."""

    def put_bytes(self, data: bytes, key: str) -> None:
        """Store the bytes under the key, replacing what is there."""

    def put_if_absent(self, data: bytes, key: str) -> bool:
        """Store the bytes unless the key exists; tell whether this call stored them."""

    def get_file(self, key: str, path: Path) -> None:
        """Write the object to the path, whole or not at all."""

    def get_bytes(self, key: str) -> bytes:
        """Return the object's bytes."""

    def exists(self, key: str) -> bool:
        """Tell whether an object has exactly this key; never from a stale listing."""

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects below the folder `prefix`, sorted by key; `job-1` does not cover `job-10`."""

    def delete_prefix(self, prefix: str) -> None:
        """Delete the object at this key and all below the folder of that name; absence is no error."""

    def url_of(self, key: str) -> str:
        """Return the URL under which a pod fetches the object."""


class ReportingStorage(Storage, Protocol):
    """A store that tells how far a file is. No store has to: of one that does not, each file counts when it is there.

    The client looks whether both methods have a parameter of that name. What was told when a call returns is the
    size of the file.
    """

    def put_file(self, path: Path, key: str, *, progress: Progress | None = None) -> None:
        """Store the file's bytes under the key, replacing what is there; tell `progress` meanwhile."""

    def get_file(self, key: str, path: Path, *, progress: Progress | None = None) -> None:
        """Write the object to the path, whole or not at all; tell `progress` meanwhile."""


@runtime_checkable
class BulkStorage(Protocol):
    """A store that takes many small files with less work for each than a call of `put_file` is. No store has to be.

    The client looks whether the method is there.
    """

    def put_files(self, files: Mapping[str, Path], *, progress: Progress | None = None) -> Collection[str]:
        """Store some of the files as `put_file` would, by their keys; return the keys of those that it leaves to that.

        After a failure no file is begun, and what was under way is done when the call raises.
        """


@attrs.frozen(kw_only=True)
class StorageDriver:
    """Opens stores for some URL schemes. Making one imports nothing heavy; `open` does.

    >>> StorageDriver(name="fsspec", schemes=("file",), open=lambda url, context: None).schemes
    ('file',)
    """

    name: str = attrs.field(validator=is_text)
    schemes: tuple[str, ...] = attrs.field(converter=texts, validator=are_texts)
    """URL schemes without `://`; `*` for every scheme that no other driver names."""
    open: Callable[[str, DriverContext], Storage] = attrs.field(validator=attrs.validators.is_callable())
    """Takes the store's URL."""
    requires: tuple[str, ...] = attrs.field(default=(), converter=texts, validator=are_texts)
    """Modules that must be importable for `open` to work."""
    install_hint: str = ""
    """The command that installs what is missing."""
    process_local: bool = False
    """What is stored is seen by this process only, so no pod can read it."""
