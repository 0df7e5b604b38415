"""Calls of a function by its name: the payload of formats that carry values and no objects."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from kinetic_core.errors import SerializationError
from kinetic_core.packaging.call import Call, function_label, surroundings_of
from kinetic_core.wire import payload
from kinetic_core.wire.fingerprint import fingerprint

FORMAT: Final = 1


def plain_payload(call: Call, *, form: str) -> dict[str, Any]:
    """Return the payload as plain values, but for the arguments, which stay as they are.

    Args:
        call: With every `Data` replaced by its reference.
        form: The format's name, for messages.

    Raises:
        SerializationError: The function cannot be found by name; the message says why and what to do.

    >>> import textwrap
    >>> from kinetic_core.wire.plan import Plan
    >>> call = Call(
    ...     function=textwrap.dedent, args=("a",), working_dir="/p", plan=Plan(package_root="/p"), kinetic_version="1"
    ... )
    >>> made = plain_payload(call, form="msgpack")
    >>> made["func"], made["args"], made["kwargs"]
    ({'module': 'textwrap', 'qualname': 'dedent', 'file': None}, ['a'], {})
    """
    return plain_head(call, form=form) | {payload.ARGS: list(call.args), payload.KWARGS: dict(call.kwargs)}


def plain_head(call: Call, *, form: str) -> dict[str, Any]:
    """Return the payload without its arguments.

    Raises:
        SerializationError: The function cannot be found by name; the message says why and what to do.
    """
    made = {
        "format": FORMAT,
        payload.FUNC: describe_function(call, form=form),
        payload.CLIENT_FINGERPRINT: _fingerprint(call),
    }
    return made | dict(surroundings_of(call))


def describe_function(call: Call, *, form: str) -> dict[str, str | None]:
    """Return how the pod finds the function: `module`, `qualname`, and for the main script its `file`.

    Args:
        call: Whose function to describe.
        form: The format's name, for messages.

    Raises:
        SerializationError: It cannot be found by name; the message says why and what to do.
    """
    try:
        return _description(call)
    except _NamelessError as error:
        why, advice = error.args
        raise SerializationError(
            f"kinetic could not serialize {function_label(call)} (type {type(call.function).__name__}) as {form}:"
            f" {why}, and the {form} format finds the function by its name in the shipped project; {advice},"
            " or use serialization='pickle'"
        ) from None


class _NamelessError(Exception):
    """Holds why a function cannot be found by name, and what to do."""


def _description(call: Call) -> dict[str, str | None]:
    function = call.function
    if not isinstance(function, FunctionType | BuiltinFunctionType):
        raise _NamelessError(_what_it_is(function), "define a function at the top level of a module")
    if "<lambda>" in function.__qualname__:
        raise _NamelessError("it is a lambda, which has no name", "define it with def at the top level of a module")
    if "<locals>" in function.__qualname__:
        outer = function.__qualname__.partition(".<locals>")[0]
        raise _NamelessError(f"it is defined inside {outer}", "move it to the top level of its module")
    module: str | None = function.__module__
    if module == "__main__":
        return _describe_main(call, function)
    if module is None or not _leads_to(sys.modules.get(module), function):
        raise _NamelessError(
            f"module {module!r} has no {function.__qualname__!r} that is it", "give it its own name in its module"
        )
    return {"module": module, "qualname": function.__qualname__, "file": None}


def _fingerprint(call: Call) -> dict[str, object]:
    made = fingerprint(cloudpickle="", kinetic=call.kinetic_version)
    del made["cloudpickle"]  # the versions may differ: none is used
    return made


def _describe_main(call: Call, function: FunctionType | BuiltinFunctionType) -> dict[str, str | None]:
    main = sys.modules["__main__"]
    namespace = function.__globals__ if isinstance(function, FunctionType) else {}
    if not _leads_to(main, function):
        raise _NamelessError(f"the main script has no {function.__qualname__!r} that is it", "give it its own name")
    spec = namespace.get("__spec__")
    if spec is not None and spec.name.rpartition(".")[2] != "__main__":
        return {"module": spec.name, "qualname": function.__qualname__, "file": None}  # python -m: it has a real name
    file = namespace.get("__file__")
    if not isinstance(file, str) or not Path(file).is_file():
        raise _NamelessError("it was typed into a notebook or a prompt, so no file holds it", "put it into a file")
    root, script = os.path.realpath(call.plan.package_root), os.path.realpath(file)
    if not script.startswith(root.rstrip("/") + "/"):
        raise _NamelessError(f"its script {file} lies outside the package root {root}", "put it below the root")
    return {
        "module": "__main__",
        "qualname": function.__qualname__,
        "file": Path(script).relative_to(root).as_posix(),
    }


def _what_it_is(function: Callable[..., Any]) -> str:
    if isinstance(function, partial):
        return "it is a functools.partial, which no module holds by name"
    if isinstance(function, MethodType):
        return "it is a method bound to an object, which no module holds by name"
    return f"it is a callable object of type {type(function).__name__}"


def _leads_to(module: object, function: Callable[..., Any]) -> bool:
    """Tell whether the qualified name leads to the function, or to something that wraps it."""
    found: Any = module
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    for _ in range(sys.getrecursionlimit()):
        if found is function or found is None:
            break
        found = getattr(found, "__wrapped__", None)
    return found is function
