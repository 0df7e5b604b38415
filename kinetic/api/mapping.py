"""`kinetic.map`: one function, many inputs."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

from kinetic.api.callable import RemoteCallable
from kinetic.jobs.batch import BatchHandle
from kinetic_core.model.request import RunOptions
from kinetic_core.packaging.callables import refuse

R = TypeVar("R")


def map(  # noqa: A001  the public contract calls it so; it is read as kinetic.map
    fn: RemoteCallable[..., R] | Callable[..., R],
    inputs: Iterable[Any],
    *,
    input_mode: Literal["auto", "single", "args", "kwargs"] = "auto",
    max_concurrent: int | None = 64,
    retries: int = 0,
    fail_fast: bool = False,
    cancel_running_on_fail: bool = False,
    name: str | None = None,
    tags: Sequence[str] | None = None,
) -> BatchHandle[R]:
    """Call a function elsewhere for each input; the project and the function are packaged and staged once.

    Args:
        fn: What `kinetic.run` returned, or a plain function, which runs as `@kinetic.run` says by default.
        inputs: Any iterable. All of a list are staged when this returns, so that any process can finish the batch.
            Those of a generator are taken in the background, never more than may run at once.
        input_mode: How an input becomes arguments. `auto`: a dict whose keys could name arguments is keyword
            arguments, a list or tuple is positional ones, anything else is one argument. `single`, `args` and
            `kwargs` force one of these.
        max_concurrent: Most jobs that wait or run at once; `None` for no limit.
        retries: Further attempts at an input whose job failed or is gone, each a new job; never after a cancel.
        fail_fast: Start nothing more once an input has failed for good.
        cancel_running_on_fail: With `fail_fast`, end what runs, too.
        name: What to call the batch; by default as the function.
        tags: Words to find it by.

    Returns:
        A handle, at once.

    Raises:
        UsageError: The inputs are no iterable, or not what `input_mode` says.
        ConfigError: A limit or a setting cannot be used.
        PackagingError: The project cannot ship.
        SerializationError: The function cannot travel. An input that cannot is among `submission_failures`.
        PreflightError: The store or the backend refused; nothing was uploaded.

    >>> import kinetic
    >>> @kinetic.run(accelerator="cpu", backend="local")
    ... def square(x: int) -> int:
    ...     return x * x
    >>> batch = kinetic.map(square, [1, 2, 3])  # doctest: +SKIP
    >>> batch.results()  # doctest: +SKIP
    [1, 4, 9]
    """
    if not isinstance(fn, RemoteCallable):
        refuse(fn)
        fn = RemoteCallable(fn, RunOptions())
    return fn.run_async_map(
        inputs,
        input_mode=input_mode,
        max_concurrent=max_concurrent,
        retries=retries,
        fail_fast=fail_fast,
        cancel_running_on_fail=cancel_running_on_fail,
        name=name,
        tags=tags,
    )
