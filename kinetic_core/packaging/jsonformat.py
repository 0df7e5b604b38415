"""The JSON format: a call and its result without any pickle, the function by reference."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from kinetic_core.errors import PackagingError, RemoteError, ResultUnavailableError, SerializationError
from kinetic_core.model.package import Artifact, PayloadComponent
from kinetic_core.packaging.call import (
    Call,
    WrittenPayload,
    argument_label,
    function_label,
    keyword_label,
    surroundings_of,
)
from kinetic_core.wire import payload
from kinetic_core.wire.digest import HashingWriter
from kinetic_core.wire.fingerprint import fingerprint
from kinetic_core.wire.jsonvalue import json_problem
from kinetic_core.wire.result import Result, read_result

FORMAT: Final = 1
_WHY: Final = "the JSON format finds the function by its name in the shipped project"
_INSTEAD: Final = "or use serialization='pickle'"


def write_json_payload(call: Call, target: Path) -> WrittenPayload:
    """Write the payload as JSON, whole or not at all.

    Args:
        call: What to write.
        target: The file; its directory exists.

    Raises:
        SerializationError: The function cannot be found by name on the pod, or an argument is nothing that JSON
            holds; the message names each such place.
        PackagingError: The file cannot be written.
    """
    description = describe_function(call)
    problems = [problem for label, value in _arguments(call) if (problem := json_problem(value, label))]
    if problems:
        raise SerializationError(
            f"kinetic could not serialize the arguments as JSON: {'; '.join(problems)}; pass text, numbers, booleans,"
            f" None, lists, dicts with text keys or Data, {_INSTEAD}"
        )
    components = [(label, _encode(value, label)) for label, value in _arguments(call)]
    texts = [text for _, text in components]
    raw = {"format": FORMAT, payload.FUNC: description, payload.CLIENT_FINGERPRINT: _fingerprint(call)}
    head = json.dumps({**raw, **dict(surroundings_of(call))})[:-1]
    positional = ", ".join(texts[: len(call.args)])
    named = ", ".join(
        f"{json.dumps(name)}: {text}" for name, text in zip(call.kwargs, texts[len(call.args) :], strict=True)
    )
    pieces = (head, f', "{payload.ARGS}": [', positional, f'], "{payload.KWARGS}": {{', named, "}}")
    return WrittenPayload(
        artifact=_write(pieces, target),
        components=tuple(
            PayloadComponent(name=label, size_bytes=len(text))
            for label, text in sorted(components, key=lambda pair: -len(pair[1]))
        ),
        modules_by_value=(),
        distributions={},
    )


def describe_function(call: Call) -> dict[str, str | None]:
    """Return how the pod finds the function: `module`, `qualname`, and for the main script its `file`.

    Raises:
        SerializationError: It cannot be found by name; the message says why and what to do.
    """
    function = call.function
    if not isinstance(function, FunctionType | BuiltinFunctionType):
        raise _refusal(call, _what_it_is(function), "define a function at the top level of a module")
    if "<lambda>" in function.__qualname__:
        raise _refusal(call, "it is a lambda, which has no name", "define it with def at the top level of a module")
    if "<locals>" in function.__qualname__:
        outer = function.__qualname__.partition(".<locals>")[0]
        raise _refusal(call, f"it is defined inside {outer}", "move it to the top level of its module")
    module: str | None = function.__module__
    if module == "__main__":
        return _describe_main(call, function)
    if module is None or not _leads_to(sys.modules.get(module), function):
        raise _refusal(
            call, f"module {module!r} has no {function.__qualname__!r} that is it", "give it its own name in its module"
        )
    return {"module": module, "qualname": function.__qualname__, "file": None}


def load_json_result(path: Path) -> Result:
    """Load a JSON result; an exception comes home as `RemoteError`. No pickle is opened, whatever the file holds.

    Raises:
        ResultUnavailableError: The file is no JSON result.
    """
    try:
        raw = json.loads(path.read_bytes())
        described = raw.get("exception") if isinstance(raw, dict) else None
        if described is not None:
            raw["exception"] = RemoteError(
                f"{described['type']}: {described['message']}",
                type_name=".".join(filter(None, (described.get("module"), described["type"]))),
                message=described["message"],
                traceback=raw.get("traceback"),
            )
        return read_result(raw)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ResultUnavailableError(
            f"the result {path.name} is incomplete, damaged or no JSON ({path.stat().st_size} bytes): {error}"
        ) from error


def _describe_main(call: Call, function: FunctionType | BuiltinFunctionType) -> dict[str, str | None]:
    main = sys.modules["__main__"]
    namespace = function.__globals__ if isinstance(function, FunctionType) else {}
    if not _leads_to(main, function):
        raise _refusal(call, f"the main script has no {function.__qualname__!r} that is it", "give it its own name")
    spec = namespace.get("__spec__")
    if spec is not None and spec.name.rpartition(".")[2] != "__main__":
        return {"module": spec.name, "qualname": function.__qualname__, "file": None}  # python -m: it has a real name
    file = namespace.get("__file__")
    if not isinstance(file, str) or not Path(file).is_file():
        raise _refusal(call, "it was typed into a notebook or a prompt, so no file holds it", "put it into a file")
    root, script = os.path.realpath(call.plan.package_root), os.path.realpath(file)
    if not script.startswith(root.rstrip("/") + "/"):
        raise _refusal(call, f"its script {file} lies outside the package root {root}", "put it below the root")
    return {
        "module": "__main__",
        "qualname": function.__qualname__,
        "file": Path(script).relative_to(root).as_posix(),
    }


def _refusal(call: Call, why: str, advice: str) -> SerializationError:
    return SerializationError(
        f"kinetic could not serialize {function_label(call)} (type {type(call.function).__name__}) as JSON: {why}, and"
        f" {_WHY}; {advice}, {_INSTEAD}"
    )


def _what_it_is(function: Callable[..., Any]) -> str:
    if isinstance(function, partial):
        return "it is a functools.partial, which no module holds by name"
    if isinstance(function, MethodType):
        return "it is a method bound to an object, which JSON cannot hold"
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


def _arguments(call: Call) -> Iterator[tuple[str, Any]]:
    yield from ((argument_label(index), value) for index, value in enumerate(call.args))
    yield from ((keyword_label(name), value) for name, value in call.kwargs.items())


def _encode(value: Any, label: str) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (RecursionError, ValueError) as error:
        # Too deep, or a number of more digits than Python converts to text.
        why = "is nested too deeply" if isinstance(error, RecursionError) else f"does not fit: {error}"
        raise SerializationError(f"kinetic could not serialize {label} as JSON: it {why}; {_INSTEAD}") from error


def _fingerprint(call: Call) -> dict[str, object]:
    made = fingerprint(cloudpickle="", kinetic=call.kinetic_version)
    del made["cloudpickle"]  # the versions may differ: none is used
    return made


def _write(pieces: tuple[str, ...], target: Path) -> Artifact:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            sink = HashingWriter(stream)
            for piece in pieces:
                sink.write(piece.encode("ascii"))
        Path(temporary).replace(target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise PackagingError(f"the payload cannot be written to {target}: {error}") from error
    return Artifact(path=target, size_bytes=sink.size_bytes, sha256=sink.hexdigest())
