"""Finding batches again, from any process."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from kinetic import settings
from kinetic.jobs.attach import store_url
from kinetic.jobs.batch import BatchHandle
from kinetic.jobs.connection import Connection, connect
from kinetic.jobs.driver import Driver
from kinetic.jobs.driving import Driving
from kinetic.jobs.handle import JobHandle
from kinetic.jobs.lifecycle import InputState
from kinetic.jobs.manifest import Manifest, find_batches, read_batch
from kinetic_core.errors import ConfigError, JobNotFoundError, PluginError, ResultUnavailableError
from kinetic_core.model.request import Surroundings
from kinetic_core.plugin import Capability


def attach_batch(group_id: str, *, storage: str | None = None) -> BatchHandle[Any]:
    """Return the handle of a batch by its id alone, and go on with it, from any process that reaches its store.

    What its own client left undone is done here: what was staged and not started is started, what failed is tried
    again while retries are left; nothing is started twice, also while that client lives. Inputs that it had not yet
    staged are lost with it, and `results` says so.

    Args:
        group_id: `batch-` and 8 hexadecimal digits.
        storage: URL of the store to search; by default that of `KINETIC_STORAGE`, the active profile or the backend.

    Raises:
        JobNotFoundError: The store knows no such batch; the message names the store.
        ResultUnavailableError: The batch was collected and cleaned up.
    """
    handle = look_at_batch(group_id, storage=storage)
    handle.go_on()
    return handle


def look_at_batch(group_id: str, *, storage: str | None = None) -> BatchHandle[Any]:
    """Return the handle of a batch without going on with it, until somebody waits for it.

    Raises:
        JobNotFoundError: The store knows no such batch.
        ResultUnavailableError: The batch was collected and cleaned up.
    """
    surroundings = settings.surroundings()
    connection = connect(surroundings)
    manifest = read_batch(connection.storage(storage or store_url(connection, surroundings)), group_id)
    return _attached(manifest, connection, surroundings)


def list_batches(*, storage: str | None = None) -> list[BatchHandle[Any]]:
    """Return handles of the batches of a store that were not cleaned up, the oldest first; nothing is gone on with."""
    surroundings = settings.surroundings()
    connection = connect(surroundings)
    found = find_batches(connection.storage(storage or store_url(connection, surroundings)))
    handles = []
    for manifest in found:
        # As of a damaged record: who asks for the batch by its id is told what is wrong with it.
        with suppress(ResultUnavailableError, PluginError, JobNotFoundError):
            handles.append(_attached(manifest, connection, surroundings))
    return sorted(handles, key=lambda handle: (handle.created_at, handle.group_id))


def hold(driving: Driving, make_handle: Callable[[InputState], JobHandle[Any]]) -> BatchHandle[Any]:
    """Return the handle of a batch that is driven here."""
    record = driving.driver.record
    return BatchHandle(driving, make_handle, reattach=(_reattach, (record.group_id, record.storage)))


def takes_arrays(connection: Connection, backend: str) -> bool:
    """Tell whether a backend takes many jobs in one call."""
    return Capability.ARRAYS in connection.host.backend_driver(backend).capabilities


def _attached(manifest: Manifest, connection: Connection, surroundings: Surroundings) -> BatchHandle[Any]:
    accepted = settings.accepted_formats(surroundings)

    def secrets() -> Mapping[str, str]:
        names = manifest.record.options.secrets
        unset = [name for name in names if name not in surroundings.environ]
        if unset:
            raise ConfigError(
                f"{manifest.record.group_id} needs secrets that are not set here: {', '.join(unset)}; they are kept in"
                " no store, so set them in this environment before you attach"
            )
        return {name: surroundings.environ[name] for name in names}

    backend = connection.backend(manifest.record.backend)
    driver = Driver(manifest, backend, arrays=takes_arrays(connection, manifest.record.backend), secrets=secrets)
    return hold(Driving(driver), lambda state: JobHandle(driver.job(state), connection, accepted=accepted))


def _reattach(group_id: str, storage: str) -> BatchHandle[Any]:
    return attach_batch(group_id, storage=storage)
