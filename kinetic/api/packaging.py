"""Packaging as a library: the artifacts of a call, without submitting it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from kinetic.api.callable import RemoteCallable
from kinetic.api.options import RunKeywords, change_options
from kinetic_core.errors import UsageError
from kinetic_core.model.package import Package
from kinetic_core.model.request import RunOptions
from kinetic_core.packaging.callables import refuse


def package(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    directory: str | Path,
    **run_options: Unpack[RunKeywords],
) -> Package:
    """Write `payload.pkl` and `context.zip` of a call into a directory, and submit nothing.

    It is what a submission itself calls. Local `Data` stay where they are: their references hold the
    content hash under a `cache:` URI.

    Args:
        fn: A plain function or a `RemoteCallable`, whose own options then count.
        args: Positional arguments of the call.
        kwargs: Keyword arguments of the call.
        directory: Where to write; created when absent.
        **run_options: Keywords of `kinetic.run`.

    Returns:
        The package: root, plan, artifacts, manifest, findings (each also logged once).

    Raises:
        UsageError: The function or the arguments are of the wrong shape.
        PackagingError: The project or a `Data` cannot ship.
        SerializationError: The function or an argument cannot travel.

    >>> import kinetic, tempfile
    >>> def triple(x):
    ...     return 3 * x
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     made = kinetic.package(triple, (2,), directory=directory)
    ...     made.payload.path.name
    'payload.pkl'
    """
    from kinetic.submission.pipeline import package_only

    _check_shapes(args, kwargs, directory)
    if isinstance(fn, RemoteCallable):
        function, options = fn.function, fn.run_options
    else:
        refuse(fn)
        function, options = fn, RunOptions()
    return package_only(
        function, tuple(args), dict(kwargs or {}), change_options(options, run_options), Path(directory)
    )


def _check_shapes(args: object, kwargs: object, directory: object) -> None:
    if isinstance(args, str | bytes) or not isinstance(args, Sequence):
        raise UsageError(f"args must be a tuple or list of positional arguments, got {args!r}; write ({args!r},)")
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise UsageError(f"kwargs must be a dict of keyword arguments or None, got {kwargs!r}")
    if not isinstance(directory, str | Path):
        raise UsageError(f"directory must be a path, got {directory!r} of type {type(directory).__name__}")
