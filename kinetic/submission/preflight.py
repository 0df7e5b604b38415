"""Asking a store for what a submission needs of it, before anything is packaged."""

import hashlib
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from kinetic import settings
from kinetic.privacy import cache_folder, make_private
from kinetic_core.errors import PreflightError, StorageError
from kinetic_core.model.request import Surroundings
from kinetic_core.plugin import Storage

GOOD_FOR_S: Final = 300.0
"""How long a store that passed is taken for good."""
FOLDER: Final = "preflight"
_ACCESS: Final = ("AWS_", "AZURE_", "CLOUDSDK_", "FSSPEC_", "GCSFS_", "GOOGLE_", "KINETIC_STORAGE", "STORAGE_EMULATOR")
_CONTENT: Final = b"kinetic"
_REMEDIES: Final = {
    "bucket": "create it, or correct the URL in storage= or KINETIC_STORAGE, and the driver's project",
    "clock": "this machine's clock differs from the store's: set it, for example with NTP",
    "credentials": "the credentials are missing, wrong or have expired: log in again, or see KINETIC_STORAGE_OPTIONS",
    "network": "the store cannot be reached: look at network, proxy and endpoint",
    "project": "correct the driver's project, in KINETIC_STORAGE_OPTIONS or GOOGLE_CLOUD_PROJECT, or ask for its use",
    "permission": "ask for the permission, or name another store with storage= or KINETIC_STORAGE",
}
_OTHERWISE: Final = "make it usable, or name another with storage= or KINETIC_STORAGE"


def ensure_usable(store: Storage, surroundings: Surroundings) -> None:
    """Probe a store, unless it passed a few minutes ago with the same access.

    Raises:
        PreflightError: The store refuses; nothing is left there.
    """
    mark = _mark(store, surroundings)
    with suppress(OSError):
        if 0 <= time.time() - mark.stat().st_mtime < GOOD_FOR_S:
            return
    probe(store)
    if settings.cache_mode(surroundings.environ)[0] == "on":
        with suppress(OSError):
            make_private(mark.parent)
            mark.touch(mode=0o600)


def probe(store: Storage, *, passed: Callable[[str], None] = lambda _: None) -> None:
    """Write a tiny object, read it, list it, and remove it again.

    Args:
        store: Whatever it holds stays as it is.
        passed: Told of each step that the store allows: `write`, `read`, `list`, `delete`.

    Raises:
        PreflightError: The store refuses; one sentence says which step, why, and what to do.
    """
    folder = f"{FOLDER}/{secrets.token_hex(8)}"
    key = f"{folder}/object"
    steps: dict[str, Callable[[], object]] = {
        "write": lambda: store.put_bytes(_CONTENT, key),
        "read": lambda: _expect(store.get_bytes(key) == _CONTENT, "it gave back other bytes than were written"),
        "list": lambda: _expect(
            [found.key for found in store.list(folder)] == [key], "it does not list what was written"
        ),
        "delete": lambda: store.delete_prefix(folder),
    }
    for step, act in steps.items():
        try:
            act()
        except StorageError as error:
            if step in {"read", "list"}:
                with suppress(StorageError):
                    store.delete_prefix(folder)
            remedy = _REMEDIES.get(error.problem, _OTHERWISE)
            raise PreflightError(
                f"the store {store.url} cannot be used, at the step {step!r}: {error}; {remedy}"
            ) from error
        passed(step)


def _expect(is_so: bool, otherwise: str) -> None:  # noqa: FBT001 - one sentence with its verb
    if not is_so:
        raise StorageError(otherwise)


def _mark(store: Storage, surroundings: Surroundings) -> Path:
    """Return the file whose time says when the store passed; its name depends on all that says who asks."""
    environ = surroundings.environ
    access = sorted(f"{name}={value}" for name, value in environ.items() if name.startswith(_ACCESS))
    options = settings.storage_options(surroundings)
    said = "\0".join((store.url, repr(sorted(options)), repr(options), str(os.getuid()), *access))
    return cache_folder() / "checks" / hashlib.sha256(said.encode(errors="surrogateescape")).hexdigest()
