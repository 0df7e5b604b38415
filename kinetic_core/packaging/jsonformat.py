"""The JSON format: a call and its result without any pickle, the function by reference."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kinetic_core.errors import PackagingError, ResultUnavailableError, SerializationError
from kinetic_core.model.package import Artifact, PayloadComponent
from kinetic_core.packaging.call import Call, WrittenPayload, argument_label, keyword_label
from kinetic_core.packaging.plaincall import plain_head
from kinetic_core.wire import payload
from kinetic_core.wire.digest import HashingWriter
from kinetic_core.wire.jsonvalue import json_problem
from kinetic_core.wire.plain import read_plain_record
from kinetic_core.wire.result import Result

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
    raw = plain_head(call, form="JSON")
    problems = [problem for label, value in _arguments(call) if (problem := json_problem(value, label))]
    if problems:
        raise SerializationError(
            f"kinetic could not serialize the arguments as JSON: {'; '.join(problems)}; pass text, numbers, booleans,"
            f" None, lists, dicts with text keys or Data, {_INSTEAD}"
        )
    components = [(label, _encode(value, label)) for label, value in _arguments(call)]
    texts = [text for _, text in components]
    head = json.dumps(raw)[:-1]
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
    )


def load_json_result(path: Path) -> Result:
    """Load a JSON result; an exception comes home as `RemoteError`. No pickle is opened, whatever the file holds.

    Raises:
        ResultUnavailableError: The file is no JSON result.
    """
    try:
        return read_plain_record(json.loads(path.read_bytes()))
    except (ValueError, TypeError, RecursionError) as error:
        raise ResultUnavailableError(
            f"the result {path.name} is incomplete, damaged or no JSON ({path.stat().st_size} bytes): {error}"
        ) from error


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
