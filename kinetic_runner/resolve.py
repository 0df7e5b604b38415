"""Putting data where the function finds it, and paths in the place of references."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from kinetic_core.walk import Replaced, find, replace
from kinetic_core.wire.names import ENV_MOUNT_ROOT
from kinetic_core.wire.payload import DATA_REF_IDS
from kinetic_core.wire.reference import Reference, as_reference
from kinetic_runner import hub
from kinetic_runner.contents import check_content, digests_of
from kinetic_runner.copying import copy_file, copy_tree
from kinetic_runner.image import image_path
from kinetic_runner.log import Log
from kinetic_runner.objects import RemoteData, file_name, make_room, tell_if_slow
from kinetic_runner.parallel import side_by_side
from kinetic_runner.retry import retried
from kinetic_runner.uris import local_path

_NOUN: Final = "reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPlaces:
    """Where data goes on this pod."""

    directory: Path
    """For what has no place of its own; each URI gets a directory in it."""
    mount_root: str = ""
    """Below which mount paths appear; empty for the file system's own root."""

    def mount(self, mount_path: str) -> Path:
        """Return where the pod shows a volume.

        Raises:
            ValueError: The mount path is not absolute, or climbs.

        >>> DataPlaces(directory=Path("/d"), mount_root="/w/mounts").mount("/data/train").as_posix()
        '/w/mounts/data/train'
        """
        if not mount_path.startswith("/") or ".." in mount_path.split("/"):
            raise ValueError(f"the mount path {mount_path!r} must be absolute and must not climb")
        return Path(f"{self.mount_root}{os.path.normpath(mount_path)}")


class Resolver:
    """Downloads what references stand for, each once, side by side."""

    def __init__(self, places: DataPlaces, known_ids: frozenset[str] | None, log: Log) -> None:
        """Take note.

        Args:
            places: Where to put data.
            known_ids: The payload's list of real references; `None` where it has none, and all of the shape count.
            log: Told of retries.
        """
        self._places = places
        self._known_ids = known_ids
        self._log = log
        self._paths: dict[tuple[str, str | None], Path] = {}

    @classmethod
    def for_payload(
        cls, payload: Mapping[str, Any], environ: Mapping[str, str], directory: Path, log: Log
    ) -> "Resolver":
        """Return a resolver that knows which references of a payload are real, and where this pod mounts."""
        ids = payload.get(DATA_REF_IDS)
        places = DataPlaces(directory=directory, mount_root=environ.get(ENV_MOUNT_ROOT, ""))
        return cls(places, None if ids is None else frozenset(ids), log)

    def mount(self, volumes: Sequence[Any]) -> None:
        """Make the volumes appear at their mount paths.

        Raises:
            ValueError: One of them is no reference with a mount path.
            OSError: One cannot be downloaded.
        """
        references = []
        for volume in volumes:
            reference = as_reference(volume, None)
            if reference is None or not reference.mount_path:
                raise ValueError("the payload's volumes hold something that is no reference with a mount path")
            references.append(reference)
        self._fetch_all(references)

    def resolve(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Replaced:
        """Return the arguments with an absolute path in the place of each reference.

        Raises:
            OSError: Something cannot be downloaded.
        """
        known = self._known_ids

        def matches(value: Any) -> bool:
            return as_reference(value, known) is not None

        found = find(args, kwargs, matches=matches, noun=_NOUN)
        references = {
            id(one.value): reference for one in found if (reference := as_reference(one.value, known)) is not None
        }
        self._fetch_all(list(references.values()))

        def make(value: Any) -> str:
            return str(self._paths[_key(references[id(value)])])

        return replace(tuple(args), dict(kwargs), matches=matches, make=make, noun=_NOUN)

    def _fetch_all(self, references: Sequence[Reference]) -> None:
        missing = {_key(one): one for one in references if _key(one) not in self._paths}
        first = len(self._paths)
        calls = [partial(self._fetch, one, number) for number, one in enumerate(missing.values(), first)]
        # Drivers are imported at their first use, and some import more at every use.
        with image_path():
            self._paths.update(zip(missing, side_by_side(calls), strict=True))

    def _fetch(self, reference: Reference, number: int) -> Path:
        if reference.mount_path is None:
            target = self._places.directory / str(number)
        else:
            target = self._places.mount(reference.mount_path)
            if reference.fuse and not self._places.mount_root:
                return target
        try:
            path = self._download(reference, target)
        except FileNotFoundError as error:
            if not reference.content_sha256:
                raise
            raise FileNotFoundError(
                f"the data {reference.uri} is not in the store (any more): {error}. Submit the call again: the client"
                " uploads whatever is missing"
            ) from error
        if reference.fuse:
            _make_read_only(path)
            if reference.mount_path is None:
                self._log.say(f"{reference.uri} is a read-only copy here: only volumes are mounted")
        return path

    def _download(self, reference: Reference, target: Path) -> Path:
        """Put a file or a directory at the target, or a file of no name of its own into it; return what to hand on."""
        what = f"download of {reference.uri}"
        if reference.uri.startswith(hub.SCHEME):
            return retried(what, lambda: hub.save_data_set(reference, target), log=self._log)
        source = local_path(reference.uri)
        if source is not None:
            path = retried(what, lambda: _copy(reference, source, target, self._log), log=self._log)
            if reference.content_sha256:
                check_content(reference, digests_of(path, file_name(reference.uri)))
            return path
        found = retried(f"listing of {reference.uri}", lambda: RemoteData.find(reference, self._log), log=self._log)
        path = _file_target(reference, target) if found.is_one else target
        check_content(reference, found.download(path, log=self._log))
        if not found.is_one:
            _make_empty_dirs(reference, path)
        return path


def _key(reference: Reference) -> tuple[str, str | None]:
    return reference.uri, reference.mount_path


def _copy(
    reference: Reference, source: Path, target: Path, log: Log, *, clock: Callable[[], float] = time.monotonic
) -> Path:
    """Put a local file or directory at the target, or a file of no name of its own into it."""
    files, size_bytes, started = *_weighed(source), clock()
    make_room(reference.uri, size_bytes, target)
    path = _copy_to(reference, source, target)
    tell_if_slow(reference.uri, files, size_bytes, clock() - started, log=log)
    return path


def _copy_to(reference: Reference, source: Path, target: Path) -> Path:
    if source.is_dir():
        copy_tree(source, target)
        _make_empty_dirs(reference, target)
        return target
    if reference.empty_dirs and not source.exists():
        # Nothing but empty directories: a store keeps no folder without an object in it.
        _make_empty_dirs(reference, target)
        return target
    file = _file_target(reference, target)
    copy_file(source, file)
    return file


def _weighed(source: Path) -> tuple[int, int]:
    """Return how many files there are, and their size in bytes."""
    files = (Path(folder, name) for folder, _, names in os.walk(source, followlinks=True) for name in names)
    sizes = [file.stat().st_size for file in ([source] if source.is_file() else files) if file.exists()]
    return len(sizes), sum(sizes)


def _file_target(reference: Reference, target: Path) -> Path:
    """Return where a single file goes: to the mount path itself, else under its own name."""
    if reference.mount_path is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        return target
    target.mkdir(parents=True, exist_ok=True)
    return target / file_name(reference.uri)


def _make_read_only(path: Path) -> None:
    """Show what would be mounted read-only as that: no argument is, and nothing can be below a mount root."""
    for folder, _, files in os.walk(path):
        for file in files:
            Path(folder, file).chmod(0o444)
        Path(folder).chmod(0o555)
    if not path.is_dir():
        path.chmod(0o444)


def _make_empty_dirs(reference: Reference, target: Path) -> None:
    for name in reference.empty_dirs:
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"empty directory {name!r} leads out of its directory")
        (target / name).mkdir(parents=True, exist_ok=True)
