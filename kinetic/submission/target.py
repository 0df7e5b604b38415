"""Where a request goes: every choice is made, and everybody asked, before anything is packaged.

What packs is not imported here: on two cores, a local job's processes start while it is.
"""

import secrets
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Final

import attrs

from kinetic import settings
from kinetic.host import Host
from kinetic.jobs.connection import Connection
from kinetic.log import apply_environment
from kinetic.submission.inspection import report_findings
from kinetic.submission.preflight import ensure_usable
from kinetic_core.errors import ConfigError, KineticError, PreflightError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.request import RunOptions, RunRequest
from kinetic_core.packaging.callables import safe_name
from kinetic_core.plugin import Backend, BackendDriver, Capability, Storage

_OF_THIS_MACHINE: Final = ("python", "inherit_env", "memory_limit", "cpu_time_limit")


@attrs.frozen(kw_only=True, eq=False, repr=False)
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
    try:
        driver, backend = host.backend_driver(backend_name), connection.backend(backend_name)
    except KineticError as error:
        if options.backend is None:
            error.add_note(
                f"no backend is named, and accelerator={options.accelerator!r} goes to {backend_name!r}:"
                " backend='local' or KINETIC_BACKEND=local runs the job on this machine"
            )
        raise
    url = options.storage or host.select_storage(request, backend_name) or backend.default_storage(options)
    store = connection.storage(url)
    chosen = attrs.evolve(options, backend=backend_name, storage=store.url)
    request = attrs.evolve(request, options=chosen)
    told = backend.preflight(request)
    # A backend that says the same knows what to do instead.
    codes = {finding.code for finding in told}
    findings = [*(finding for finding in _unsupported(driver, chosen) if finding.code not in codes), *told]
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


def read_secrets(request: RunRequest) -> dict[str, str]:
    """Return the values of the variables named in `secrets`.

    Raises:
        ConfigError: Some are not set; the message names them all.
    """
    environ = request.surroundings.environ
    unset = [name for name in request.options.secrets if name not in environ]
    if unset:
        raise ConfigError(f"secrets names variables that are not set here: {', '.join(unset)}")
    return {name: environ[name] for name in request.options.secrets}
