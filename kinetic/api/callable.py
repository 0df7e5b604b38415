"""What `kinetic.run` makes of a function."""

import functools
import inspect
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, Unpack, overload

import attrs

from kinetic.api.options import RunKeywords, change_options
from kinetic.jobs.handle import JobHandle
from kinetic_core.errors import UsageError
from kinetic_core.model.request import RunOptions
from kinetic_core.packaging.callables import safe_name

if TYPE_CHECKING:
    from kinetic.jobs.batch import BatchHandle

P = ParamSpec("P")
Q = ParamSpec("Q")  # a method's parameters after the instance: mypy binds the class's own P too early
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
T = TypeVar("T")


class RemoteCallable(Generic[P, R_co]):
    """A function that runs elsewhere when called, with the signature that it had.

    Pickled, it becomes the plain function: on the pod it runs inline, without `kinetic` being there.
    """

    __name__: str

    def __init__(self, function: Callable[P, R_co], options: RunOptions) -> None:
        """Wrap the function; `kinetic.run` checks it first."""
        self.__name__ = safe_name(function)
        try:
            functools.update_wrapper(self, function)
        except (AttributeError, TypeError) as error:
            raise UsageError(
                f"kinetic.run cannot name {function!r}; wrap it in a function:"
                " def call(*args, **kwargs): return target(*args, **kwargs)"
            ) from error
        # Last: what the wrapped object has of the same name must not take their place.
        self._function = function
        self._options = options

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run it elsewhere, stream its log to stdout, and return its value or raise its exception.

        Raises:
            UsageError: The arguments do not fit the signature; nothing was packaged.
            PackagingError: The project or a `Data` cannot ship.
            SerializationError: The function or an argument cannot travel; the message names the culprit.
            PreflightError: The store or the backend refused; nothing was uploaded.
            SubmissionError: The job could not be started; nothing was left in the store.
            JobFailedError: The job ended without a value.
        """
        from kinetic.submission import pipeline

        if pipeline.runs_inline():
            return self._function(*args, **kwargs)
        pipeline.refuse_blocking_debug(self._options)
        return self.run_async(*args, **kwargs).follow()

    def run_async(self, /, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R_co]:
        """Start it elsewhere and return a handle at once; raises as a call does while submitting."""
        from kinetic.submission import pipeline

        return pipeline.submit(self._function, args, kwargs, self._options)

    def run_async_map(
        self,
        inputs: Iterable[Any],
        *,
        input_mode: Literal["auto", "single", "args", "kwargs"] = "auto",
        max_concurrent: int | None = 64,
        retries: int = 0,
        fail_fast: bool = False,
        cancel_running_on_fail: bool = False,
        name: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> "BatchHandle[R_co]":
        """Start a call for each input and return a handle at once, as `kinetic.map` does."""
        from kinetic.jobs.batchrecord import Limits
        from kinetic.submission.batch import submit_batch

        limits = Limits(
            max_concurrent=max_concurrent,
            retries=retries,
            fail_fast=fail_fast,
            cancel_running_on_fail=cancel_running_on_fail,
        )
        return submit_batch(
            self._function, inputs, self._options, limits=limits, input_mode=input_mode, name=name, tags=tags
        )

    def options(self, **keywords: Unpack[RunKeywords]) -> "RemoteCallable[P, R_co]":
        """Return a copy with some keywords of `kinetic.run` changed; this one stays as it is.

        >>> import kinetic
        >>> @kinetic.run(accelerator="cpu")
        ... def f() -> int:
        ...     return 1
        >>> f.options(retries=3).run_options.retries, f.run_options.retries
        (3, 0)
        """
        return RemoteCallable(self._function, change_options(self._options, keywords))

    @property
    def local(self) -> Callable[P, R_co]:
        """The plain function, to call here and now: `f.local(3)`. Handed to a job, it needs no `kinetic` there."""
        return self._function

    @property
    def function(self) -> Callable[P, R_co]:
        """The plain function."""
        return self._function

    @property
    def run_options(self) -> RunOptions:
        """The options as decorated, before environment and profile fill them in."""
        return self._options

    @property
    def serialization(self) -> str:
        """The format that carries the call and its result; may be set."""
        return self._options.serialization

    @serialization.setter
    def serialization(self, name: str) -> None:
        self._options = attrs.evolve(self._options, serialization=name)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> "RemoteCallable[P, R_co]": ...
    @overload
    def __get__(
        self: "RemoteCallable[Concatenate[S, Q], T]", instance: S, owner: type | None = None
    ) -> "RemoteCallable[Q, T]": ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return RemoteCallable(types.MethodType(self._function, instance), self._options)

    def __reduce__(self) -> tuple[Any, ...]:
        # itemgetter rather than a function of ours: the pod need not have kinetic to load it.
        return operator.itemgetter(0), ((self._function,),)

    def __repr__(self) -> str:
        return f"<kinetic.RemoteCallable {getattr(self, '__qualname__', None) or self._function!r}>"
