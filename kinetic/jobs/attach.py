"""Finding jobs again, from any process."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from kinetic import settings
from kinetic.jobs.connection import Connection, connect
from kinetic.jobs.handle import JobHandle
from kinetic.jobs.ledger import JobRecord, read_job
from kinetic.log import get_logger
from kinetic_core.errors import ConfigError, KineticError, PluginError
from kinetic_core.model.request import RunOptions, Surroundings
from kinetic_core.plugin import Storage

_TARGET: Final = ("project", "zone", "cluster", "namespace")


def attach(job_id: str, *, storage: str | None = None) -> JobHandle[Any]:
    """Return the handle of a job by its id alone, from any process or machine that reaches its store.

    Args:
        job_id: `job-` and 8 hexadecimal digits.
        storage: URL of the store to search; by default that of `KINETIC_STORAGE`, the active profile or
            the backend.

    Raises:
        JobNotFoundError: The store knows no such job; the message names the store.
        ResultUnavailableError: The job's result was collected already.
    """
    surroundings = settings.surroundings()
    connection = connect(surroundings)
    url = storage or store_url(connection, surroundings)
    accepted = settings.accepted_formats(surroundings)
    return JobHandle(read_job(connection.storage(url), job_id), connection, accepted=accepted)


def list_jobs() -> list[JobHandle[Any]]:
    """Return handles of this user's live jobs, the oldest first.

    A backend whose library takes long to import is asked where there is a sign of it: a setting that names it or a
    target, a store elsewhere, or one of its jobs in the store on this machine.
    """
    surroundings = settings.surroundings()
    connection, accepted = connect(surroundings), settings.accepted_formats(surroundings)
    found = []
    for name in _backends_to_ask(connection, surroundings):
        try:
            refs = list(connection.backend(name).find())
        except (ConfigError, PluginError) as error:
            # Not installed, or no target: most often it is not used at all.
            if name == settings.resolve(RunOptions(), surroundings).options.backend:
                _say_unasked(name, error)
            continue
        except KineticError as error:
            _say_unasked(name, error)
            continue
        for ref in refs:
            if "job_url" not in ref.details:
                continue
            try:
                raw = json.loads(connection.storage(ref.details["job_url"]).get_bytes("handle.json"))
                found.append(JobHandle[Any](JobRecord.from_json(raw), connection, accepted=accepted))
            except (KineticError, ValueError):
                continue
    return sorted(found, key=lambda handle: (handle.created_at, handle.job_id))


def _say_unasked(name: str, error: KineticError) -> None:
    get_logger("kinetic.jobs").warning(
        "backend_unasked", backend=name, message=f"jobs of the backend {name!r} are not among these: {error}"
    )


def _backends_to_ask(connection: Connection, surroundings: Surroundings) -> list[str]:
    drivers = connection.host.backends()
    resolved = settings.resolve(RunOptions(accelerator="cpu"), surroundings)
    heavy = {name for name, driver in drivers.items() if driver.requires}
    has_target = any(resolved.provenance[name].source != settings.DEFAULT for name in _TARGET)
    if not heavy or has_target or resolved.options.backend in heavy:
        return sorted(drivers)
    url = store_url(connection, surroundings)
    if not url.startswith("file://"):
        return sorted(drivers)
    return sorted(set(drivers) - heavy | heavy.intersection(_backends_in(connection.storage(url))))


def _backends_in(storage: Storage) -> Iterator[str]:
    """Yield the backend of each job that a store knows and that was not collected."""
    for pointer in storage.list("jobs"):
        with suppress(KineticError, ValueError, KeyError, TypeError):
            folder = json.loads(storage.get_bytes(pointer.key))["folder"]
            yield JobRecord.from_json(json.loads(storage.get_bytes(f"{folder}/handle.json"))).backend


def store_url(connection: Connection, surroundings: Surroundings) -> str:
    """Return the URL of the store that settings, or else the backend, name."""
    options = settings.resolve(RunOptions(accelerator="cpu"), surroundings).options
    if options.storage is not None:
        return options.storage
    return connection.backend(options.backend or "local").default_storage(options)
