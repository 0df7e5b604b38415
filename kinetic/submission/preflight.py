"""Asking a store for what a submission needs of it, before anything is packaged."""

import secrets

from kinetic_core.errors import PreflightError, StorageError
from kinetic_core.plugin import Storage


def probe(store: Storage) -> None:
    """Write a tiny object and remove it again.

    Raises:
        PreflightError: The store refuses; nothing is left there.
    """
    key = f"preflight/{secrets.token_hex(8)}"
    try:
        store.put_bytes(b"", key)
        store.delete_prefix(key)
    except StorageError as error:
        raise PreflightError(
            f"the store {store.url} cannot be written to: {error}; make it writable, or name another with storage="
            " or KINETIC_STORAGE"
        ) from error
