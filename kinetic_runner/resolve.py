"""Putting data where the function finds it, and paths in the place of references."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from kinetic_core.walk import Replaced, find, replace
from kinetic_core.wire.names import ENV_MOUNT_ROOT
from kinetic_core.wire.payload import DATA_REF_IDS
from kinetic_core.wire.reference import Reference, as_reference
from kinetic_runner.copying import copy_file, copy_tree
from kinetic_runner.drivers import open_url
from kinetic_runner.fetch import download
from kinetic_runner.image import image_path
from kinetic_runner.log import Log
from kinetic_runner.parallel import side_by_side
from kinetic_runner.retry import retried
from kinetic_runner.uris import base_name, local_path

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
        path = retried(f"download of {reference.uri}", lambda: _download(reference, target), log=self._log)
        if reference.fuse and reference.mount_path is not None:
            _make_read_only(path)
        return path


def _key(reference: Reference) -> tuple[str, str | None]:
    return reference.uri, reference.mount_path


def _download(reference: Reference, target: Path) -> Path:
    """Put a file or a directory at the target, or a file of no name of its own into it; return what to hand on."""
    source = local_path(reference.uri)
    if source is None:
        return _download_remote(reference, target)
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


def _file_target(reference: Reference, target: Path) -> Path:
    """Return where a single file goes: to the mount path itself, else under its own name."""
    if reference.mount_path is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        return target
    target.mkdir(parents=True, exist_ok=True)
    return target / (base_name(reference.uri) or "data")


def _download_remote(reference: Reference, target: Path) -> Path:
    system, path = open_url(reference.uri)
    prefix = f"{path.rstrip('/')}/"
    listed = [] if not reference.is_dir and system.isfile(path) else system.find(prefix)
    # A store may answer with the object of that very name, or with a marker that stands for a folder.
    names = [name for name in listed if name.startswith(prefix) and not name.endswith("/")]
    if not names and reference.empty_dirs:
        _make_empty_dirs(reference, target)
        return target
    if not names:
        file = _file_target(reference, target)
        download(reference.uri, file)
        return file
    target.mkdir(parents=True, exist_ok=True)
    scheme = reference.uri.partition("://")[0]
    for name in names:
        relative = name[len(prefix) :]
        if ".." in relative.split("/"):
            raise ValueError(f"object {name!r} leads out of its directory")
        file = target / relative
        file.parent.mkdir(parents=True, exist_ok=True)
        download(f"{scheme}://{name.removeprefix(f'{scheme}://').lstrip('/')}", file)
    _make_empty_dirs(reference, target)
    return target


def _make_read_only(path: Path) -> None:
    """Show a volume that would be mounted read-only as one: nothing can be mounted below a mount root."""
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
