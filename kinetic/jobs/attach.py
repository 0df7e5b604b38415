"""Finding jobs again, from any process."""

import json
from typing import Any

from kinetic import settings
from kinetic.jobs.connection import Connection, connect
from kinetic.jobs.handle import JobHandle
from kinetic.jobs.ledger import JobRecord, read_job
from kinetic_core.errors import KineticError
from kinetic_core.model.request import RunOptions, Surroundings


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
    """Return handles of this user's live jobs, on every backend that can be opened, the oldest first."""
    surroundings = settings.surroundings()
    connection, accepted = connect(surroundings), settings.accepted_formats(surroundings)
    found = []
    for name in sorted(connection.host.backends()):
        try:
            refs = list(connection.backend(name).find())
        except KineticError:
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


def store_url(connection: Connection, surroundings: Surroundings) -> str:
    """Return the URL of the store that settings, or else the backend, name."""
    options = settings.resolve(RunOptions(accelerator="cpu"), surroundings).options
    if options.storage is not None:
        return options.storage
    return connection.backend(options.backend or "local").default_storage(options)
