"""The client's half: writes a call, reads a result."""

import ast
import hashlib
from pathlib import Path

from kinetic_core.errors import SerializationError
from kinetic_core.plugin import (
    Artifact,
    Call,
    Result,
    Serializer,
    WrittenPayload,
    hookimpl,
    plain_payload,
    read_plain_record,
)


@hookimpl
def kinetic_serializers() -> list[Serializer]:
    return [Serializer(name="literal", suffix=".literal", write=write_payload, read=read_result)]


def write_payload(call: Call, target: Path, **_: object) -> WrittenPayload:
    text = ascii(plain_payload(call, form="literal"))
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError) as error:
        raise SerializationError(f"kinetic could not serialize the arguments as literals: {error}") from error
    target.write_text(text, encoding="ascii")
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    return WrittenPayload(artifact=Artifact(path=target, size_bytes=len(text), sha256=digest))


def read_result(path: Path) -> Result:
    return read_plain_record(ast.literal_eval(path.read_text(encoding="ascii")))
