"""Leftovers of processes that were killed: the next submission takes away what nobody else will."""

import hashlib
import json
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kinetic_core.model.job import JobRef
from kinetic_core.wire.names import PART_PREFIX
from kinetic_local.locks import try_lock
from kinetic_local.places import Places, make_private, remove_private
from kinetic_local.state import Watch

_DAY_S: Final = 86_400.0
_PART: Final = re.compile(re.escape(PART_PREFIX) + "[0-9a-f]{24}")
_FOLDER: Final = "folder"
_USERS_OWN: Final = "outputs"


def describe_life(ref: JobRef, folder: str) -> bytes:
    """Return what stands in the file of a living job: who it is, and which private folders are to be removed."""
    return json.dumps({**ref.to_json(), _FOLDER: folder}).encode()


def reference_in(live: Path) -> JobRef | None:
    """Read the reference that a living job's file holds; none while it is being written, or when it is damaged."""
    try:
        return JobRef.from_json({key: value for key, value in _life(live).items() if key != _FOLDER})
    except (FileNotFoundError, ValueError, KeyError, AttributeError):
        return None


def settle_dead(live: Path, places: Places) -> None:
    """Write the end of a job whose supervisor is gone, and remove its private folders and its file.

    Args:
        live: The job's file, which was seen unlocked; one that came to life meanwhile is left alone.
        places: Of this user.
    """
    ref = reference_in(live)
    if ref is not None:
        Watch(ref, places).events()
    lock = try_lock(str(live)) if live.exists() else None
    if lock is None:
        return
    try:
        # The pod, which also knows them, may be gone with its store.
        with suppress(ValueError, AttributeError, TypeError):
            remove_private(_life(live).get(_FOLDER, ""))
        live.unlink(missing_ok=True)
    finally:
        os.close(lock)


def sweep_parts(store: Path, places: Places, *, now_s: float) -> int:
    """Remove this user's unfinished files from a store, where they are older than a day; look once a day.

    Args:
        store: The directory of a `file://` store.
        places: Where to keep the date of the last look.
        now_s: The present time, since the epoch.

    Returns:
        How many were removed.
    """
    stamp = places.state / f"swept-{hashlib.sha256(os.fsencode(store)).hexdigest()[:16]}"
    if stamp.exists() and 0 <= now_s - stamp.stat().st_mtime < _DAY_S:
        return 0
    make_private(stamp.parent)
    stamp.touch(mode=0o600)
    return sum(_remove_part(path, now_s - _DAY_S) for path in _parts(store))


def _life(live: Path) -> Any:
    return json.loads(live.read_bytes())


def _parts(store: Path) -> list[Path]:
    found = []
    for folder, folders, files in os.walk(store):
        found += [Path(folder, name) for name in (*files, *folders) if _PART.fullmatch(name)]
        # What functions wrote is no business of the store's.
        folders[:] = [name for name in folders if not (name == _USERS_OWN and Path(folder) == store)]
    return found


def _remove_part(path: Path, before_s: float) -> bool:
    """Remove a part file, or the empty folder that stands for one to be."""
    with suppress(OSError):
        status = path.lstat()
        if status.st_uid != os.getuid() or status.st_mtime >= before_s:
            return False
        if stat.S_ISDIR(status.st_mode):
            path.rmdir()
        elif stat.S_ISREG(status.st_mode):
            path.unlink()
        else:
            return False
        return True
    return False
