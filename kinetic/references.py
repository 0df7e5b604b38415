"""How `Data` travels: its content lies in the store's cache once, however many jobs use it."""

import functools
import json
import os
import time
from pathlib import Path
from typing import Final

import attrs

from kinetic import settings
from kinetic.hashes import HashCache
from kinetic.transfers import transfer
from kinetic_core.errors import ObjectNotFoundError, PackagingError, StorageError
from kinetic_core.findings import Finding
from kinetic_core.plugin import DriverContext, Reference, Storage
from kinetic_core.references.data import Data, size_findings
from kinetic_core.references.hashing import Hashed, still_holds
from kinetic_core.wire.names import PART_PREFIX

CACHE: Final = "cache"
MARKER_SUFFIX: Final = ".complete"
RENEWED_S: Final = 15 * 86_400
"""A use renews the marker of content that is older; of what is younger, nobody knows when it was used last."""
_UNSTAGED: Final = "cache:"


def marker_key(sha256: str) -> str:
    """Return the key of the object without which content counts as absent.

    >>> marker_key("0a1b")
    'cache/0a1b.complete'
    """
    return f"{CACHE}/{sha256}{MARKER_SUFFIX}"


@attrs.frozen(kw_only=True)
class _Content:
    """What a `Data` puts into the store."""

    path: Path
    hashed: Hashed

    @property
    def folder(self) -> str:
        """Key of the folder that holds it, named by its hash."""
        return f"{CACHE}/{self.hashed.digest.sha256}"

    @property
    def inventory(self) -> bytes:
        """The marker's content: what a listing of the folder must add up to."""
        return _inventory(self.hashed.digest.file_count, self.hashed.digest.size_bytes)

    @property
    def marker(self) -> str:
        """Key of the object that says that all files are there; it is written last and removed first."""
        return marker_key(self.hashed.digest.sha256)

    def files(self) -> dict[str, Path]:
        """Return the local files by their keys."""
        base = self.path if self.hashed.is_dir else self.path.parent
        return {f"{self.folder}/{name}": base / name for name in self.hashed.found.files.names}

    def empty_dirs(self) -> tuple[str, ...]:
        """Return the directories that hold nothing, relative to the folder."""
        if not self.hashed.is_dir:
            return ()
        found = self.hashed.found
        return found.empty if found.names else (".",)


class DataHandler:
    """Turns `Data` into references, and puts local content into the store.

    Content is addressed by its hash, so two who upload the same at once write the same bytes, each object
    whole; the completion marker, written last, makes it count.
    """

    def __init__(self, context: DriverContext) -> None:
        """Open the handler."""
        self._log = context.log
        mode, _ = settings.cache_mode(context.environ)
        self._hash_path = functools.partial(HashCache.of_user().hash_path, mode=mode)

    def local_path(self, value: Data) -> Path | None:
        """Return the local path of the data, which the archive then leaves out; `None` for a URL."""
        return None if value.is_remote else Path(value.path)

    def reference(self, value: Data, *, store_url: str | None) -> Reference:
        """Return the reference, uploading nothing; a URL passes through, its scheme in small letters.

        Args:
            value: The data.
            store_url: The store in which `stage` will put it; `None` names it by content alone.

        Raises:
            PackagingError: It holds a name that stores keep for what is being written, or that the store cannot have.
        """
        if value.is_remote:
            # Drivers on the pod look for their scheme as it is written.
            scheme, separator, rest = value.path.partition("://")
            return _reference(value, f"{scheme.lower()}{separator}{rest}")
        content = self._content(value)
        if store_url is None:
            return _reference(value, f"{_UNSTAGED}{content.hashed.digest.sha256}", content)
        _refuse_names(value, content, store_url)
        name = "" if content.hashed.is_dir else content.path.name
        return _reference(value, f"{store_url}/{content.folder}/{name}", content)

    def findings(self, value: Data) -> tuple[Finding, ...]:
        """Warn about data so large that uploading it takes long."""
        if not value.is_remote:
            self._hashed(value)
        return size_findings(value)

    def stage(self, value: Data, storage: Storage) -> bool:
        """Make sure that the content lies in the store; tell whether this call uploaded it.

        Raises:
            PackagingError: The data changed since its hash was taken.
            StorageError: The store failed.
        """
        if value.is_remote:
            return False
        content = self._content(value)
        if _is_complete(storage, content):
            self._log.debug("data_found", path=value.path, sha256=value.content_hash())
            return False
        try:
            _upload(storage, content)
        except StorageError as error:
            # What cannot be read any more is told as what it is.
            if not still_holds(content.path, content.hashed):
                raise _changed(value) from error
            raise
        if not still_holds(content.path, content.hashed):
            storage.delete_prefix(content.folder)
            raise _changed(value)
        storage.put_bytes(content.inventory, content.marker)
        digest = content.hashed.digest
        self._log.debug("data_uploaded", path=value.path, files=digest.file_count, size_bytes=digest.size_bytes)
        return True

    def unstage(self, value: Data, storage: Storage) -> None:
        """Remove from the store what `stage` uploaded for a submission that failed."""
        if not value.is_remote:
            content = self._content(value)
            storage.delete_prefix(content.marker)
            storage.delete_prefix(content.folder)

    def _hashed(self, value: Data) -> Hashed:
        return value.hashed(self._hash_path)

    def _content(self, value: Data) -> _Content:
        return _Content(path=Path(value.path), hashed=self._hashed(value))


def _changed(value: Data) -> PackagingError:
    return PackagingError(
        f"{value!r} changed after its content was hashed, so what was uploaded is not what was asked for:"
        " make a new Data once nobody writes to it"
    )


def _refuse_names(value: Data, content: _Content, store_url: str) -> None:
    """Refuse what stores would, before anything is uploaded."""
    for name in content.hashed.found.names:
        if not store_url.startswith(("file://", "memory://")) and not _is_text(name):
            raise PackagingError(
                f"{value!r} holds {os.fsencode(name)!r}: that name is no text in UTF-8, and the store {store_url}"
                " takes no other; rename it"
            )
        if any(part.startswith(PART_PREFIX) for part in name.split("/")):
            raise PackagingError(
                f"{value!r} holds {name!r}: in a store, names that begin with {PART_PREFIX!r} are those of"
                " objects that are being written; rename it, or remove it where it was left there by one"
            )


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reference(value: Data, uri: str, content: _Content | None = None) -> Reference:
    return Reference(
        uri=uri,
        is_dir=value.is_dir,
        fuse=value.fuse,
        hf_trust_remote_code=value.hf_trust_remote_code,
        empty_dirs=() if content is None else content.empty_dirs(),
        content_sha256="" if content is None else content.hashed.digest.sha256,
    )


def _inventory(files: int, size_bytes: int) -> bytes:
    return json.dumps({"format": 1, "files": files, "size_bytes": size_bytes}).encode()


def _is_complete(storage: Storage, content: _Content) -> bool:
    """Tell whether all was uploaded and is still there; a bucket's life-cycle rules may have removed some.

    It costs one small object and one listing; nothing is downloaded. The marker of what is old is renewed.
    """
    try:
        marker = storage.get_bytes(content.marker)
    except ObjectNotFoundError:
        return False
    found = tuple(storage.list(content.folder))
    if not marker == content.inventory == _inventory(len(found), sum(one.size_bytes for one in found)):
        return False
    newest_s = max((one.modified_s for one in found), default=0.0)
    if newest_s and newest_s < time.time() - RENEWED_S:
        # Before anybody relies on it: who collects garbage sees that it is in use.
        storage.put_bytes(content.inventory, content.marker)
    return True


def _upload(storage: Storage, content: _Content) -> None:
    files = content.files()
    # Somebody else's upload that failed may have left what does not belong to this content.
    for found in tuple(storage.list(content.folder)):
        if found.key not in files:
            storage.delete_prefix(found.key)
    with transfer("upload", content.path.name, storage, size_bytes=content.hashed.digest.size_bytes) as moving:
        moving.put_files(files)
