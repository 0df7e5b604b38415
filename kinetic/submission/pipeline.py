"""The way of one call: preflight, package, stage, submit. Nothing is uploaded before all is checked."""

import secrets
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MethodType
from typing import Any, Final, TypeVar

import attrs

from kinetic import settings
from kinetic.host import Host
from kinetic.jobs.connection import Connection, connect
from kinetic.jobs.handle import JobHandle
from kinetic.jobs.ledger import JobRecord, forget_job, now, record_job, update_job
from kinetic.jobs.starting import submit_or_find
from kinetic.log import apply_environment, get_logger
from kinetic.scratch import scratch
from kinetic.submission.contexts import clean_contexts, share_context
from kinetic.submission.image import begin_image
from kinetic.submission.inspection import report_findings
from kinetic.submission.preflight import ensure_usable
from kinetic.submission.prepare import Prepared, prepare, read_secrets
from kinetic.submission.recover import step
from kinetic.submission.refusal import check_submission_allowed
from kinetic.submission.sharing import SharedContext
from kinetic.submission.stage import Staging, job_folder, stage_package
from kinetic_core.errors import ConfigError, PackagingError, PreflightError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.job import JobRef, JobSpec
from kinetic_core.model.package import Package
from kinetic_core.model.request import RunOptions, RunRequest
from kinetic_core.packaging.callables import check_call, safe_name
from kinetic_core.plugin import Backend, BackendDriver, Capability, Storage
from kinetic_core.wire import names

R = TypeVar("R")

_OF_THIS_MACHINE: Final = ("python", "inherit_env", "memory_limit", "cpu_time_limit")


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
    with scratch() as directory:
        with step("package"):
            prepared = prepare(
                target.request,
                connection,
                target.driver,
                target.store,
                directory=directory,
                announce=report_findings,
            )
            report_findings(_not_yet_told(prepared.package))
        return _launch(connection, target, prepared, shared=shared, directory=directory)


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
        report: Log each finding once, and refuse those that stop a submission.
    """
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
            report_findings(_not_yet_told(package))
    except BaseException:
        if not existed:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    return package


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PackagingError(
            f"the directory {directory} for the artifacts cannot be made: {error.strerror}; name another"
        ) from error


def _not_yet_told(package: Package) -> list[Finding]:
    return [finding for finding in package.findings if finding not in package.root.findings]


def _quiet(_: Sequence[Finding]) -> None:
    """Keep findings for the caller."""


def runs_inline() -> bool:
    """Tell whether a decorated function called here runs here, because this process is a job's already."""
    return settings.in_pod(settings.surroundings().environ)


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


@attrs.frozen(kw_only=True)
class Target:
    """Where a request goes: every choice made, every refusal heard."""

    request: RunRequest
    driver: BackendDriver
    backend: Backend
    store: Storage


def make_request(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], options: RunOptions
) -> tuple[RunRequest, bool]:
    """Return the request, and whether its store was configured explicitly and so counts as shared."""
    surroundings = settings.surroundings()
    apply_environment(settings.variable(surroundings.environ, settings.ENV_LOG_LEVEL))
    resolved = settings.resolve(options, surroundings).options
    plain: Callable[..., Any] = function
    if isinstance(function, MethodType):
        plain, args = function.__func__, (function.__self__, *args)
    request = RunRequest(
        job_id=f"job-{secrets.token_hex(4)}",
        function=plain,
        args=args,
        kwargs=kwargs,
        options=resolved,
        name=safe_name(plain),
        surroundings=surroundings,
    )
    return request, resolved.storage is not None


def choose_target(connection: Connection, request: RunRequest) -> Target:
    """Choose backend and store, and ask both whether they would take the request."""
    host, options = connection.host, request.options
    _check_serialization(host, options)
    read_secrets(request)
    backend_name = options.backend or host.select_backend(request)
    if backend_name is None:
        raise ConfigError("no backend was chosen; name one with backend= or KINETIC_BACKEND")
    driver = host.backend_driver(backend_name)
    backend = connection.backend(backend_name)
    url = options.storage or host.select_storage(request, backend_name) or backend.default_storage(options)
    store = connection.storage(url)
    chosen = attrs.evolve(options, backend=backend_name, storage=store.url)
    request = attrs.evolve(request, options=chosen)
    findings = [*_unsupported(driver, chosen), *backend.preflight(request)]
    report_findings(findings, stop_with=PreflightError)
    ensure_usable(store, request.surroundings)
    return Target(request=request, driver=driver, backend=backend, store=store)


def _unsupported(driver: BackendDriver, options: RunOptions) -> list[Finding]:
    """Name each option that this backend cannot honour."""
    wanted = (
        (Capability.DEBUG, "debug", options.debug),
        (Capability.SECRETS, "secrets", bool(options.secrets)),
        (Capability.MULTI_HOST, "hosts", (options.hosts or 1) > 1),
    )
    unsupported = [
        Finding(
            code=f"{option}_unsupported",
            severity=Severity.ERROR,
            message=f"the backend {driver.name!r} has no support for {option}=",
            remedy="leave it out, or name another backend",
        )
        for capability, option, used in wanted
        if used and capability not in driver.capabilities
    ]
    ignored = [name for name in _OF_THIS_MACHINE if getattr(options, name)]
    if (options.hosts or 1) > 1 and Capability.MULTI_HOST in driver.capabilities:
        ignored.append("hosts")  # elsewhere the accelerator says how many
    if ignored and driver.remote:
        message = f"{', '.join(f'{name}=' for name in ignored)} says how jobs run on this machine"
        unsupported.append(
            Finding(
                code="option_ignored",
                severity=Severity.WARNING,
                message=f"{message}; the backend {driver.name!r} runs them elsewhere and ignores it",
                remedy="leave it out, or name the backend 'local'",
            )
        )
    return unsupported


def _check_serialization(host: Host, options: RunOptions) -> None:
    for name in (options.serialization, *(options.allowed_serialization or ())):
        host.serializer(name)
    allowed = options.allowed_serialization
    if allowed is not None and options.serialization not in allowed:
        raise ConfigError(
            f"Serialization format {options.serialization!r} not allowed. Allowed formats: {sorted(allowed)!r}"
        )


def _launch(
    connection: Connection, target: Target, prepared: Prepared, *, shared: bool, directory: Path
) -> JobHandle[Any]:
    """Stage, record and submit; whatever fails, nothing of it stays."""
    request, store = target.request, target.store
    staging = Staging(store, job_folder(request.job_id, request.name, request.surroundings, shared=shared))
    try:
        image = begin_image(target.driver, target.backend, request.options, prepared.package)
        with step("stage data"):
            staging.put_data(prepared.data)
        with step("stage artifacts"):
            context = _shared_context(target, prepared, staging, directory)
            spec = _spec(request, prepared, staging, context)
        with step("make image"):
            spec = attrs.evolve(spec, image=image())
        debug_root = str(prepared.package.root.path) if request.options.debug else ""
        record = _record(request, spec, staging.folder, context, debug_root=debug_root)
        with step("save handle"):
            record_job(store, record)
        with step("submit"):
            ref = submit_or_find(target.backend, spec)
    except BaseException:
        _undo(request, staging)
        raise
    if ref != record.ref:
        record = attrs.evolve(record, ref=ref)
        update_job(store, record)
    if context is not None:
        clean_contexts(store, request.surroundings)
    get_logger("kinetic.submission").info(
        "job_submitted", job_id=request.job_id, backend=record.backend, store=store.url
    )
    return JobHandle(record, connection)


def _shared_context(target: Target, prepared: Prepared, staging: Staging, directory: Path) -> SharedContext | None:
    """Put the context where other jobs find it too; `None` where it has to lie in the job's own folder."""
    environ = target.request.surroundings.environ
    if Capability.CONTEXT_LAYERS not in target.driver.capabilities or settings.cache_mode(environ)[0] == "off":
        return None
    result = f"{staging.folder}/{_result_file(prepared.package.payload.path.name)}"
    surroundings = target.request.surroundings
    return share_context(target.store, surroundings, prepared, job=staging.folder, result=result, directory=directory)


def _spec(request: RunRequest, prepared: Prepared, staging: Staging, context: SharedContext | None) -> JobSpec:
    staged = stage_package(staging, prepared.package, context=None if context is None else context.staged)
    options = request.options
    return JobSpec(
        job_id=request.job_id,
        name=request.name,
        options=options,
        context=staged.context,
        payload=staged.payload,
        requirements=staged.requirements,
        result_url=staging.storage.url_of(f"{staging.folder}/{_result_file(staged.payload.url)}"),
        job_url=staging.storage.url_of(staging.folder),
        output_dir=prepared.output_dir,
        volumes=tuple(reference.to_dict() for reference in prepared.volumes),
        secrets=read_secrets(request),
        allowed_serialization=options.allowed_serialization or names.DEFAULT_FORMATS,
    )


def _result_file(payload_url: str) -> str:
    """Return the name of the result: in the payload's format, and so with its suffix."""
    return str(PurePosixPath(names.RESULT_FILE).with_suffix(PurePosixPath(payload_url).suffix))


def _record(
    request: RunRequest, spec: JobSpec, folder: str, context: SharedContext | None, *, debug_root: str
) -> JobRecord:
    backend, storage = request.options.backend or "", request.options.storage or ""
    return JobRecord(
        job_id=request.job_id,
        backend=backend,
        func_name=request.name,
        accelerator=request.options.accelerator,
        created_at=now(),
        storage=storage,
        folder=folder,
        result_file=_result_file(spec.payload.url),
        ref=JobRef(backend=backend, job_id=request.job_id, details={"job_url": spec.job_url}),
        context=context.folder if context is not None else "",
        debug_root=debug_root,
    )


def _undo(request: RunRequest, staging: Staging) -> None:
    """Take back what was staged; a store that refuses that too is named, and hides no first failure."""
    try:
        staging.undo()
        forget_job(staging.storage, request.job_id, staging.folder)
    except Exception as error:  # noqa: BLE001  the failure that brought us here is the one to report
        get_logger("kinetic.submission").warning(
            "staged_artifacts_left",
            store=staging.storage.url,
            folder=staging.folder,
            error=repr(error),
            remedy="remove the folder by hand",
        )
