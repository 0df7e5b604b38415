"""A call of a function that another payload holds: many calls of one function ship it once."""

import functools
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import cloudpickle

from kinetic_core.packaging.call import Call
from kinetic_core.wire.names import PICKLE_PROTOCOL
from kinetic_core.wire.payload import SHARED_ARGS, SHARED_KWARGS


def sharing_call(
    base: Call, args: Sequence[Any], kwargs: Mapping[str, Any], *, reference: Mapping[str, Any], sha256: str
) -> Call:
    """Return the call of a shared function with these arguments.

    Without a reference among them, the arguments travel inside the called object, where no pod looks for any: they
    arrive as they are, whatever they are.

    Args:
        base: All that its calls have in common; its `data_ref_ids` are those of the arguments.
        args: Positional arguments, each `Data` replaced by its reference.
        kwargs: Keyword arguments, likewise.
        reference: To the folder that holds the function's payload, `payload.pkl`.
        sha256: Of that payload.

    >>> from kinetic_core.wire.plan import Plan
    >>> base = Call(function=len, working_dir="/", plan=Plan(package_root="/"), kinetic_version="1")
    >>> sharing_call(base, ("abc",), {}, reference={"id": "1"}, sha256="00").args
    ({'id': '1'},)
    """
    function = _SharedCall()
    inner: dict[str, Any] = {SHARED_ARGS: tuple(args), SHARED_KWARGS: dict(kwargs)}
    own: tuple[Any, ...] = (reference,)
    hidden = not base.data_ref_ids
    return attrs.evolve(
        base,
        function=functools.partial(function, **inner) if hidden else function,
        args=own,
        kwargs={} if hidden else inner,
        data_ref_ids=(reference["id"], *base.data_ref_ids),
        shared_function=sha256,
    )


class _SharedCall:
    """Arrives as the function below. Its pickle is made once, as a payload is small beside it."""

    def __call__(self, folder: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function that the payload in the folder holds, with its own arguments and these."""
        return _shared_call()(folder, args, kwargs)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return pickle.loads, (_pickled(),)


@functools.cache
def _pickled() -> bytes:
    """Return the function that calls the shared one, by value."""
    pickled: bytes = cloudpickle.dumps(_shared_call(), protocol=PICKLE_PROTOCOL)
    return pickled


def _shared_call() -> Callable[..., Any]:
    """Return the function that calls the shared one. Defined in here, it has no name to be found by, in any runner."""

    def shared_call(folder: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import pickle
        from pathlib import Path

        shared = pickle.loads(Path(folder, "payload.pkl").read_bytes())
        return shared["func"](*shared["args"], *args, **{**shared["kwargs"], **kwargs})

    return shared_call
