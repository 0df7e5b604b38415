"""Data that a job found damaged in the store: the next submission uploads it anew."""

import re
from typing import Final

from kinetic_core.errors import StorageError
from kinetic_core.plugin import Storage
from kinetic_core.wire.result import Result

_RESOLVING: Final = "data resolve"


def forget_damaged(result: Result, storage: Storage) -> str:
    """Take away the mark that data is complete where a job found it damaged, and say so.

    The content stays until it is replaced: other jobs may be reading what is whole of it.

    Args:
        result: How the job failed.
        storage: The store that holds the data.

    Returns:
        A sentence for the user, or nothing where no cached data is to blame.
    """
    from kinetic.references import marker_key

    if result.phase != _RESOLVING:
        return ""
    found = re.search(rf"{re.escape(storage.url)}/cache/([0-9a-f]{{64}})/.* is damaged", str(result.exception))
    if found is None:
        return ""
    marker = marker_key(found[1])
    try:
        storage.delete_prefix(marker)
    except StorageError as error:
        return f"data is damaged in the store, and {storage.url}/{marker}, which says otherwise, stays: {error}"
    return "the damaged data counts as absent now; submit again, and it is uploaded anew"
