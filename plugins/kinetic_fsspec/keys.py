"""Keys of a store: exact names, `/`-separated, that cannot leave it."""

from kinetic_core.errors import StorageError
from kinetic_core.wire.names import PART_PREFIX


def checked_key(key: str, url: str) -> str:
    """Return the key, unless it could name something outside the store or something unfinished.

    Args:
        key: Relative to the store, without a slash at either end.
        url: Of the store, for the message.

    Raises:
        StorageError: The key is empty, or has a part that is empty, `.`, `..`, or reserved.

    >>> checked_key("job-1/result.pkl", "file:///store")
    'job-1/result.pkl'
    """
    if any(part in ("", ".", "..") or "\0" in part or part.startswith(PART_PREFIX) for part in key.split("/")):
        raise StorageError(
            f"{key!r} is no key of the store {url}: each part between slashes must be a plain name,"
            f" not empty, '.', '..' or starting with {PART_PREFIX!r}"
        )
    return key


def checked_prefix(prefix: str, url: str) -> str:
    """Return the folder's key without a trailing slash; the empty prefix is the store itself.

    Raises:
        StorageError: As for `checked_key`.

    >>> checked_prefix("job-1/", "file:///store")
    'job-1'
    """
    return checked_key(prefix.removesuffix("/"), url) if prefix else ""
