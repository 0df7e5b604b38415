"""The bundle: what an interpreter without this distribution runs a job with."""

import os
import shutil
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kinetic_core.errors import SubmissionError
from kinetic_core.wire.removal import remove_tree
from kinetic_local.inheritance import start_paths
from kinetic_local.places import make_private

_CONTENTS: Final = {
    "kinetic_runner": ("",),
    "kinetic_core": ("__init__.py", "errors.py", "wire", "walk"),
    "cloudpickle": ("",),
}
"""Packages, and what of each; a driver imports none of them, it only copies."""


def bundle_where_needed(state: Path) -> str:
    """Return a folder to import the runner from, or nothing where a fresh interpreter finds it by itself.

    A checkout that is on the client's path only, by `PYTHONPATH` or by hand, is no part of the pod: of it the
    runner alone is copied, and it comes last on the pod's path.

    Args:
        state: The backend's own folder, where the bundle is kept.

    Raises:
        SubmissionError: One of the packages is not on this process's path either.
    """
    if {str(_folder(name).parent) for name in _CONTENTS} <= set(start_paths()):
        return ""
    return bundle(state)


def bundle(state: Path) -> str:
    """Return a folder to import the runner from, for an interpreter that cannot have it.

    Args:
        state: As above.

    Raises:
        SubmissionError: One of the packages is not on this process's path.
    """
    return str(_bundle(state, sorted(_sources({name: _folder(name) for name in _CONTENTS}))))


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SubmissionError(f"the local backend needs the package {package}, which cannot be found here")
    return Path(spec.origin).parent


def _sources(folders: dict[str, Path]) -> Iterator[tuple[str, Path]]:
    """Yield the name in the bundle and the file of everything that goes into it."""
    for package, contents in _CONTENTS.items():
        for content in contents:
            top = folders[package] / content
            for path in [top] if top.is_file() else top.rglob("*.py"):
                yield f"{package}/{path.relative_to(folders[package]).as_posix()}", path


def _bundle(state: Path, sources: list[tuple[str, Path]]) -> Path:
    """Return the folder named by its content, made when it is not there yet."""
    digest = sha256(repr(sys.version_info[:2]).encode())
    for name, source in sources:
        digest.update(f"{name}\0{source.stat().st_size}\0".encode() + source.read_bytes())
    target = state / f"runner-{digest.hexdigest()[:16]}"
    if not target.is_dir():
        part = state / f".{target.name}-{os.urandom(8).hex()}"
        for name, source in sources:
            make_private((part / name).parent)
            shutil.copyfile(source, part / name)
        _publish(part, target)
    return target


def _publish(part: Path, target: Path) -> None:
    try:
        part.rename(target)
    except OSError:
        # Another client made the same bundle meanwhile.
        remove_tree(part)
