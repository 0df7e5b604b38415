"""The way of one call: preflight, package, stage, submit. Nothing is uploaded before all is checked."""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kinetic import settings
from kinetic.jobs.connection import connect
from kinetic.jobs.handle import JobHandle
from kinetic.submission.inspection import report_findings
from kinetic.submission.recover import step
from kinetic.submission.refusal import check_submission_allowed
from kinetic.submission.target import choose_target, make_request
from kinetic_core.errors import ConfigError, PackagingError
from kinetic_core.findings import Finding
from kinetic_core.model.package import Package
from kinetic_core.model.request import RunOptions
from kinetic_core.packaging.callables import check_call, safe_name

R = TypeVar("R")


def submit(
    function: Callable[..., R], args: tuple[Any, ...], kwargs: Mapping[str, Any], options: RunOptions
) -> JobHandle[R]:
    """Start a call elsewhere.

    Raises:
        UsageError: The arguments do not fit the signature, or somebody only looks (`submissions_refused`).
        ConfigError: A setting cannot be used.
        PreflightError: The store or the backend refused; nothing was uploaded.
        PackagingError: The project or a `Data` cannot ship.
        SerializationError: The function or an argument cannot travel.
        SubmissionError: The job could not be started; nothing was left in the store.
    """
    check_submission_allowed(safe_name(function))
    check_call(function, args, kwargs)
    request, shared = make_request(function, args, kwargs, options)
    connection = connect(request.surroundings)
    with step("preflight"):
        target = choose_target(connection, request)
    # Only now: on two cores, a local job's processes start while all that packs is imported.
    from kinetic.submission.launching import package_and_launch

    return package_and_launch(connection, target, shared=shared)


def package_only(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    options: RunOptions,
    directory: Path,
    *,
    check_signature: bool = True,
    report: bool = True,
) -> Package:
    """Package a call into a directory and submit nothing; findings are returned.

    Args:
        function: The plain function.
        args: Positional arguments.
        kwargs: Keyword arguments.
        options: As decorated.
        directory: Where to write; created when absent.
        check_signature: Refuse arguments that do not fit the signature; without it, a function can be packaged
            alone, to look at.
        report: Log each finding once, and refuse those that stop a submission; the archive is the caller's alone.
            Without it, nobody may write to the archive.
    """
    from kinetic.submission.prepare import prepare

    if check_signature:
        check_call(function, args, kwargs)
    request, _ = make_request(function, args, kwargs, options)
    connection = connect(request.surroundings)
    driver = connection.host.backends().get(request.options.backend or "")
    existed = directory.is_dir()
    _make_directory(directory)
    try:
        package = prepare(
            request, connection, driver, None, directory=directory, announce=report_findings if report else _quiet
        ).package
        if report:
            report_findings(package.own_findings)
            _unshare(package.context.path)
    except BaseException:
        if not existed:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    return package


def _unshare(archive: Path) -> None:
    from kinetic.submission.snapshots import unshare

    try:
        unshare(archive)
    except OSError as error:
        message = f"the context archive {archive} cannot be copied out of the cache: {error.strerror}"
        raise PackagingError(f"{message}; make room for it, or set KINETIC_CACHE=off") from error


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PackagingError(
            f"the directory {directory} for the artifacts cannot be made: {error.strerror}; name another"
        ) from error


def _quiet(_: Sequence[Finding]) -> None:
    """Keep findings for the caller."""


def runs_inline() -> bool:
    """Tell whether a decorated function called here runs here, because this process is a job's already."""
    return settings.in_pod()


def refuse_blocking_debug(options: RunOptions) -> None:
    """Refuse to block on a debug job that nobody can talk to.

    Raises:
        ConfigError: `debug=True` without a terminal, and `KINETIC_NO_TTY_DEBUG` is not `1`.
    """
    if not options.debug or sys.stdin.isatty():
        return
    if settings.surroundings().environ.get("KINETIC_NO_TTY_DEBUG") != "1":
        raise ConfigError(
            "debug=True waits for a debugger, and there is no terminal here to say so;"
            " use run_async, or set KINETIC_NO_TTY_DEBUG=1"
        )
