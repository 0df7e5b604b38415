"""Preflight: what keeps a request from running on this machine, told before anything is uploaded."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kinetic_core.errors import ConfigError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.quantity import size_in_bytes
from kinetic_core.model.request import RunOptions
from kinetic_core.wire import names
from kinetic_local.limits import LEAST_BYTES, can_limit
from kinetic_local.places import ENV_LIMIT, Places, job_limit, temporary
from kinetic_local.venue import is_elsewhere

_SET_TMPDIR: Final = "set TMPDIR to a directory that you can write"


def check(options: RunOptions, places: Places, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what stands in the way, and what will be ignored.

    Args:
        options: Of the request.
        places: Where the backend keeps its state.
        environ: The client's environment.
    """
    if (options.storage or "").partition("://")[0] == "memory":
        yield _error(
            "store_process_local",
            f"the store {options.storage!r} lives in this process only, so a job in another process cannot read it",
            "use a file:// store, or none: the local backend has its own at file://~/.kinetic/store",
        )
    if options.debug:
        yield _error("debug_unsupported", "the local backend cannot debug jobs yet", "run the function with f.local(…)")
    if options.file_mounts:
        yield _error("mounts_unsupported", "the local backend cannot mount files yet", "pass the files as kinetic.Data")
    if options.container_image not in (None, "bundled"):
        yield Finding(
            code="container_image_ignored",
            severity=Severity.INFO,
            message=f"container_image={options.container_image!r} is ignored: a local job runs on this machine",
        )
    if options.volumes:
        yield _not_mounted(options.volumes)
    yield from _interpreter(options, places, environ)
    yield from _limits(options)
    try:
        job_limit(environ)
    except ConfigError as error:
        yield _error("job_limit_invalid", str(error), f"unset {ENV_LIMIT} to run one job a core")
    yield from _temporary(environ)
    if not _writable(places.state):
        yield _error(
            "home_unwritable",
            f"the local backend keeps its state in {places.state}, which cannot be written",
            "set HOME to a directory that you can write",
        )


def _interpreter(options: RunOptions, places: Places, environ: Mapping[str, str]) -> Iterator[Finding]:
    if not sys.executable:
        yield _error("interpreter_unknown", "sys.executable is empty: there is no interpreter to run the job with", "")
        return
    if not is_elsewhere(options):
        return

    from kinetic_local.interpreters import find_interpreter

    try:
        is_own = find_interpreter(options.python, environ, places.home).is_own
    except ConfigError as error:
        yield _error(
            "python_unusable", str(error), "leave out python= and KINETIC_PYTHON to run the job with the client's own"
        )
        return
    scheme = (options.storage or "file").partition("://")[0]
    if scheme not in ("file", "memory") and (options.isolation == "venv" or not is_own):
        yield Finding(
            code="store_driver_needed",
            severity=Severity.WARNING,
            message=f"the job's own interpreter needs a driver for {scheme}:// to read its artifacts",
            remedy="list fsspec and that driver in the dependency file, or use a file:// store for local jobs",
        )


def _limits(options: RunOptions) -> Iterator[Finding]:
    if options.memory_limit is not None and size_in_bytes(options.memory_limit) < LEAST_BYTES:
        yield _error(
            "memory_limit_too_small",
            f"memory_limit={options.memory_limit!r} is less than the interpreter itself needs, so no job can start",
            "give each process what the function needs and some 30Mi more, such as memory_limit='2Gi'",
        )
    said = [name for name in ("memory_limit", "cpu_time_limit") if getattr(options, name) is not None]
    if said and not can_limit():
        yield Finding(
            code="limits_ignored",
            severity=Severity.WARNING,
            message=f"{' and '.join(said)}: {sys.platform} cannot limit a job so, and it runs without",
            remedy="set a limit in the shell that starts the client (ulimit), or run on Linux",
        )


def _temporary(environ: Mapping[str, str]) -> Iterator[Finding]:
    try:
        folder = temporary(environ)
    except FileNotFoundError as error:
        yield _error("temporary_absent", f"there is no directory for temporary files: {error.strerror}", _SET_TMPDIR)
        return
    if not _writable(Path(folder)):
        yield _error(
            "temporary_unwritable",
            f"the job's workspace would lie in {folder}, which cannot be written",
            _SET_TMPDIR,
        )


def _not_mounted(volumes: Mapping[str, Any]) -> Finding:
    copies = {mount: ", a read-only copy" if getattr(data, "fuse", False) else "" for mount, data in volumes.items()}
    places = ", ".join(f"{mount} at ${names.ENV_MOUNT_ROOT}{mount}{copy}" for mount, copy in copies.items())
    return Finding(
        code="volumes_not_mounted",
        severity=Severity.WARNING,
        message=f"the local backend mounts nothing: the function finds {places}",
        remedy=f"open os.environ.get({names.ENV_MOUNT_ROOT!r}, '') + {next(iter(volumes))!r}, right on every backend",
    )


def _error(code: str, message: str, remedy: str) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, message=message, remedy=remedy)


def _writable(folder: Path) -> bool:
    """Tell whether the folder exists, or could be made in the nearest folder that does, and be written."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
