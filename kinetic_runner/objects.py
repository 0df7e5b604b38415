"""Data in remote stores: what a URL stands for, room for it, and getting it, several objects at once."""

import errno
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from kinetic_core.wire.digest import sha256_of_file
from kinetic_core.wire.reference import Reference
from kinetic_core.wire.transience import DamagedError
from kinetic_runner.drivers import answers_ranges, open_url
from kinetic_runner.fetch import download
from kinetic_runner.log import Log
from kinetic_runner.parallel import side_by_side
from kinetic_runner.retry import retried
from kinetic_runner.uris import base_name

_WORTH_A_LINE_S: Final = 1.0
_ENCODED: Final = "contentEncoding"
_NOTHING: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteData:
    """What lies at a URL: one object, or all below a prefix."""

    uri: str
    objects: tuple[tuple[str, str, int | None], ...]
    """URL, name below the prefix (`""` for the object itself), and size in bytes where the store tells it."""
    told: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Of each: what the driver calls it, and what the store says of it."""
    hashed: bool = True
    """Whether anybody will compare hashes."""

    @property
    def is_one(self) -> bool:
        """Tell whether it is the object of this very name."""
        return len(self.objects) == 1 and not self.objects[0][1]

    @property
    def size_bytes(self) -> int:
        """Add up the sizes that are known."""
        return sum(size or 0 for _, _, size in self.objects)

    @classmethod
    def find(cls, reference: Reference, log: Log) -> "RemoteData":
        """Ask the store what a reference stands for; an object that is nowhere is told when it is downloaded.

        Raises:
            ValueError: The name of an object leads out of its directory.
            ImportError: No driver for that kind of URI is installed.
            OSError: The store cannot be asked.
        """
        uri = reference.uri
        system, path = open_url(uri)
        hashed = bool(reference.content_sha256)
        if not reference.is_dir and (one := _one(system, path)) is not None:
            return cls(uri=uri, objects=((uri, "", _size(one)),), told=((path, one),), hashed=hashed)
        prefix = f"{path.rstrip('/')}/"
        objects, all_told = [], []
        for name, told in sorted(system.find(prefix, detail=True).items()):
            # A store may answer with the object of that very name, or with a marker that stands for a folder.
            if not name.startswith(prefix) or name.endswith("/"):
                continue
            relative = name[len(prefix) :]
            if ".." in relative.split("/"):
                raise ValueError(f"object {name!r} leads out of its directory")
            # By the URL that was asked for: it may say more than the scheme, such as an account.
            objects.append((f"{uri.rstrip('/')}/{relative}", relative, _size(told)))
            all_told.append((name, told))
        if not objects and not reference.empty_dirs:
            return cls(uri=uri, objects=((uri, "", None),))
        if objects and not reference.is_dir:
            log.caution(
                f"{uri} names no object but {len(objects)} below it: it is taken as a directory; "
                f"write a / at its end to say so"
            )
        return cls(uri=uri, objects=tuple(objects), told=tuple(all_told), hashed=hashed)

    def download(self, target: Path, *, log: Log, clock: Callable[[], float] = time.monotonic) -> dict[str, str]:
        """Put the objects below a directory, or the one object into a file of it.

        Returns:
            The SHA-256 of each by its name below the prefix, of a single object by its own name; empty texts where
            nobody will compare them.

        Args:
            target: The directory, or the file where it is one object.
            log: Told of retries, and of what took longer than a second.
            clock: Seconds.

        Raises:
            OSError: There is no room, or an object cannot be had.
        """
        make_room(self.uri, self.size_bytes, target)
        started = clock()
        files = [target / relative if relative else target for _, relative, _ in self.objects]
        for folder in dict.fromkeys([target.parent if self.is_one else target, *(file.parent for file in files)]):
            folder.mkdir(parents=True, exist_ok=True)
        digests = self._get_all(files, log)
        tell_if_slow(self.uri, len(files), sum(file.stat().st_size for file in files), clock() - started, log=log)
        names = [relative or file_name(self.uri) for _, relative, _ in self.objects]
        return dict(zip(names, digests, strict=True))

    def _get_all(self, files: Sequence[Path], log: Log) -> list[str]:
        if answers_ranges(self.uri) and self.told and all(size is not None for _, _, size in self.objects):
            # What it needs of the standard library takes longer to import than many a job to start.
            from kinetic_runner.bulk import Wanted, get_in_bulk

            wanted = [
                Wanted(url=url, path=path, file=file, size_bytes=size or 0, told=told)
                for (url, _, size), (path, told), file in zip(self.objects, self.told, files, strict=True)
            ]
            system, _ = open_url(self.uri)
            return get_in_bulk(system, wanted, hashed=self.hashed, log=log)
        # One call would do one thing after the other there.
        all_told = [told for _, told in self.told] or [_NOTHING] * len(files)
        return side_by_side(
            [
                partial(_get, url, file, size, told, log)
                for (url, _, size), told, file in zip(self.objects, all_told, files, strict=True)
            ]
        )


def tell_if_slow(uri: str, files: int, size_bytes: int, took_s: float, *, log: Log) -> None:
    """Tell in one line of data that took longer than a second to come."""
    if took_s >= _WORTH_A_LINE_S:
        log.say(f"{uri}: {files} objects, {size_bytes / 1024**2:,.1f} MB in {took_s:.1f} s")


def make_room(uri: str, size_bytes: int, target: Path) -> None:
    """Make sure that a disk has room for data before a byte of it is downloaded.

    Args:
        uri: Of the data, for the message.
        size_bytes: Of all of it.
        target: Where it will lie; need not exist.

    Raises:
        OSError: It has not.
    """
    place = target
    while not place.exists():
        place = place.parent
    status = os.statvfs(place)
    free_bytes = status.f_bavail * status.f_frsize
    if size_bytes > free_bytes:
        raise OSError(
            errno.ENOSPC,
            f"{uri} holds {size_bytes / 1024**3:.2f} GB, and the disk of {place} has {free_bytes / 1024**3:.2f} GB"
            " left; give the pod a larger disk, or mount the data (fuse=True)",
        )


def _get(url: str, file: Path, size_bytes: int | None, told: Mapping[str, Any], log: Log) -> str:
    def get() -> str:
        digest = _get_decoded(url, file) if told.get(_ENCODED) else download(url, file)
        got_bytes = file.stat().st_size
        if size_bytes is not None and got_bytes != size_bytes:
            # A body that is cut off without a word, or an object that is replaced just now.
            file.unlink()
            raise DamagedError(f"{url}: {got_bytes} bytes came of {size_bytes}")
        return digest

    return retried(f"download of {url}", get, log=log)


def _get_decoded(url: str, file: Path) -> str:
    """Get an object that Cloud Storage keeps compressed: what comes has no size and no checksum that it tells."""
    system, path = open_url(url)
    try:
        system.get_file(path, os.fspath(file))
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    return sha256_of_file(file)


def _one(system: Any, path: str) -> Mapping[str, Any] | None:
    """Return what the store says of the object of this very name; `None` when there is none."""
    try:
        told: Mapping[str, Any] = system.info(path)
    except FileNotFoundError:
        return None
    return told if told.get("type") == "file" and not path.endswith("/") else None


def _size(told: Any) -> int | None:
    size = told.get("size")
    return size if isinstance(size, int) and not told.get(_ENCODED) else None


def file_name(uri: str) -> str:
    """Return the name under which a single object lies on the pod.

    >>> file_name("gs://b/cache/0a1b/model.bin"), file_name("/")
    ('model.bin', 'data')
    """
    return base_name(uri) or "data"
