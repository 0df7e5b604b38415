"""Virtual environments of jobs: where they lie, who uses one, and which may go.

Each lies in a folder named by what it is made of, and is ready when a description lies in it, which is written last.
A lock beside it is held exclusively by who makes or removes it, and shared by each supervisor whose job runs in it.
"""

import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from kinetic_core.wire.removal import remove_tree
from kinetic_local.usage import READY, is_current, is_ready, open_lock, try_alone

MOST: Final = 16
"""So many are kept, those in use and the last used."""
UNUSED_S: Final = 30 * 86_400.0
"""What nobody used for so long goes when the next one is made."""
_CREDENTIALS: Final = re.compile(r"://[^/@\s]+@")


class Venv(NamedTuple):
    """One environment that is ready."""

    folder: Path
    python: str
    requirements: str
    """What it was made of, without options."""
    used_at_s: float
    size_bytes: int


def describe(folder: Path, *, python: str, requirements: str) -> None:
    """Write the description that makes an environment ready."""
    part = folder / f".{READY}-{os.urandom(4).hex()}"
    part.write_text(json.dumps({"python": python, "requirements": requirements}))
    part.rename(folder / READY)


def without_credentials(text: str) -> str:
    """Return the text without the user information of URLs.

    >>> without_credentials("a @ https://me:token@example.org/a.whl")
    'a @ https://***@example.org/a.whl'
    """
    return _CREDENTIALS.sub("://***@", text)


def kept_venvs(environments: Path) -> list[Venv]:
    """Return what is kept, the last used first.

    Args:
        environments: The folder of all.
    """
    found = []
    for folder in _folders(environments):
        with suppress(OSError, ValueError, KeyError):
            said = json.loads((folder / READY).read_bytes())
            used_at_s = (folder / READY).stat().st_mtime
            found.append(Venv(folder, said["python"], said["requirements"], used_at_s, _size_bytes(folder)))
    return sorted(found, key=lambda one: -one.used_at_s)


def remove_venvs(environments: Path) -> list[Venv]:
    """Remove all that no job uses, also what was never finished; return what was ready."""
    kept = {one.folder: one for one in kept_venvs(environments)}
    removed = [folder for folder in _folders(environments) if _remove(folder)]
    return [kept[folder] for folder in removed if folder in kept]


def tidy_venvs(environments: Path, *, most: int = MOST) -> None:
    """Remove what nobody used for long, what is beyond the number that is kept, and what was never finished."""
    before_s = time.time() - UNUSED_S
    used_at_s = {folder: _used_at_s(folder) for folder in _folders(environments)}
    for number, folder in enumerate(sorted(used_at_s, key=lambda one: -used_at_s[one])):
        if number >= most or used_at_s[folder] < before_s:
            _remove(folder)


def _folders(environments: Path) -> list[Path]:
    with suppress(FileNotFoundError, NotADirectoryError):
        return sorted(path for path in environments.iterdir() if path.is_dir() and not path.is_symlink())
    return []


def _used_at_s(folder: Path) -> float:
    return (folder / READY).stat().st_mtime if is_ready(str(folder)) else 0.0


def _size_bytes(folder: Path) -> int:
    """Return what removing it gives back, about: files that have other names too are counted as well."""
    sizes = (Path(top, name).lstat().st_size for top, _, names in os.walk(folder) for name in names)
    return sum(sizes)


def _remove(folder: Path) -> bool:
    """Remove an environment that nobody uses; tell whether nobody did."""
    path, lock = f"{folder}.lock", open_lock(str(folder))
    try:
        if not try_alone(lock) or not is_current(path, lock):
            return False
        with suppress(FileNotFoundError):
            remove_tree(folder)
        Path(path).unlink(missing_ok=True)
    finally:
        os.close(lock)
    return True
