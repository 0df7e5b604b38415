"""What a submission does about the contexts that its client keeps in a store."""

import threading
import time
from pathlib import Path
from typing import Final

from kinetic.log import get_logger
from kinetic.submission.prepare import Prepared
from kinetic.submission.sharing import SharedContext, Sharing, client_of
from kinetic.submission.snapshots import SnapshotCache
from kinetic.submission.uses import Use, Uses
from kinetic_core.model.request import Surroundings
from kinetic_core.plugin import Storage

_EVERY_S: Final = 86_400


def share_context(
    storage: Storage, surroundings: Surroundings, prepared: Prepared, *, job: str, result: str, directory: Path
) -> SharedContext | None:
    """Put the context where other jobs of this client find it too, and note that a job needs it.

    Args:
        storage: Where to.
        surroundings: Whose context this is.
        prepared: Holds it.
        job: Key of the job's folder.
        result: Key of its result.
        directory: Where a layer can be written.

    Returns:
        `None` where nobody could see to it that it stays: while others clean, or without a place for notes.

    Raises:
        StorageError: The store failed.
    """
    client = client_of(surroundings)
    uses = Uses.of_store(storage, client)
    package = prepared.package
    with uses.together() as undisturbed:
        if not undisturbed:
            return None
        sharing = Sharing(storage=storage, client=client, cache=SnapshotCache.of_user())
        # The manifest lists the plan too.
        entries = len(package.manifest.entries) - 1
        shared = sharing.share(package.context, package.root.path, entries, directory)
        try:
            uses.add(Use(job_folder=job, keys=shared.keys, at=time.time(), result=result))
        except OSError as error:
            get_logger("kinetic.submission").debug("context_use_not_noted", error=str(error))
            return None
    return shared


def clean_contexts(storage: Storage, surroundings: Surroundings) -> None:
    """Bring what contexts take in the store within bounds, if it is time, while the caller goes on."""
    client = client_of(surroundings)
    start_cleaning(storage, client, Uses.of_store(storage, client))


def start_cleaning(storage: Storage, client: str, uses: Uses) -> threading.Thread | None:
    """Clean in a thread of its own, if it is time and there can be one; nobody waits for it.

    Args:
        storage: The store.
        client: As `client_of` returns it.
        uses: What the client's jobs need.
    """
    if not uses.claim_cleaning(every_s=_EVERY_S):
        return None
    from kinetic.submission.cleaning import Cleaning  # once a day

    cleaning = Cleaning(storage=storage, client=client, uses=uses)
    thread = threading.Thread(target=cleaning.run, name="kinetic-clean-contexts", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        # The process has no room for one more, or is about to end: the job was submitted all the same.
        return None
    return thread
