"""A context that was damaged in the store: taken away, so that the next submission uploads it again."""

from typing import Final

from kinetic.jobs.ledger import JobRecord
from kinetic_core.errors import StorageError
from kinetic_core.plugin import Storage
from kinetic_core.wire.result import Result

_VERIFICATION: Final = "artifact verification"


def remove_damaged(record: JobRecord, result: Result, storage: Storage) -> str:
    """Remove a shared context that a job found damaged, and say so; nothing of any other is removed.

    Args:
        record: The job.
        result: How it failed.
        storage: The store that holds the context.

    Returns:
        A sentence for the user, or nothing where the context is not to blame.
    """
    if not record.context or result.phase != _VERIFICATION or record.context not in str(result.exception):
        return ""
    try:
        storage.delete_prefix(record.context)
    except StorageError as error:
        return f"the context in {storage.url}/{record.context} is damaged and could not be removed: {error}"
    return f"the damaged context {storage.url}/{record.context} was removed; submit again, and it is uploaded anew"
