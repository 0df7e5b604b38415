"""`kinetic.run`: the decorator."""

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, Unpack, overload

from kinetic.api.callable import RemoteCallable
from kinetic.api.options import RunKeywords, change_options
from kinetic.log import get_logger
from kinetic_core.model.request import RunOptions
from kinetic_core.packaging.callables import refuse

P = ParamSpec("P")
R = TypeVar("R")


class Decorator(Protocol):
    """What `kinetic.run(...)` returns: it keeps the signature of what it decorates."""

    def __call__(self, function: Callable[P, R], /) -> RemoteCallable[P, R]:
        """Decorate the function."""


@overload
def run(function: Callable[P, R], /, **keywords: Unpack[RunKeywords]) -> RemoteCallable[P, R]: ...
@overload
def run(**keywords: Unpack[RunKeywords]) -> Decorator: ...
def run(function: Callable[..., Any] | None = None, /, **keywords: Any) -> Any:
    """Make a function run elsewhere when it is called. Works bare (`@kinetic.run`) and with keywords.

    Args:
        function: The function, when used bare.
        **keywords: How and where to run. All are optional: `accelerator` (default `"tpu-v5e-1"`), `backend`,
            `storage`, `container_image`, `base_image_repo`, `project`, `zone`, `cluster`, `namespace`,
            `capture_env_vars`, `secrets`, `volumes`, `file_mounts`, `ignore`, `spot`, `retries`, `timeout`
            (seconds an attempt), `output_dir` (URL), `serialization`, `allowed_serialization`, `debug`,
            `labels`, `hosts`; and for jobs on this machine `isolation` (`"process"` or `"venv"`), `python` (a version
            or a path), `inherit_env`, `memory_limit` (`"2Gi"`), `cpu_time_limit` (seconds). What is not said
            here comes from `KINETIC_*` variables, then the active profile, then the default.

    Returns:
        A `RemoteCallable` with the same signature, or the decorator that makes one.

    Raises:
        UsageError: No function, a class, something wrapped that cannot travel, an unknown keyword, or a
            value of the wrong type.
        ConfigError: A value that cannot be used.

    >>> import kinetic
    >>> @kinetic.run(accelerator="cpu", backend="local")
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double.local(4)
    8
    """
    options = change_options(RunOptions(), keywords)
    if options.debug and options.spot:
        get_logger("kinetic.api").warning(
            "debug_on_spot_requested", remedy="a spot machine may be reclaimed while you debug; set spot=False"
        )

    def decorate(decorated: Callable[..., Any]) -> RemoteCallable[..., Any]:
        refuse(decorated)
        return RemoteCallable(decorated, options)

    return decorate if function is None else decorate(function)
