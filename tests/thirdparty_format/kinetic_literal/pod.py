"""The pod's half: reads a call, writes a result. Nothing but the standard library is needed."""

import ast
from pathlib import Path
from typing import Any

SUFFIX = ".literal"


def load_payload(path: Path) -> dict[str, Any]:
    payload: dict[str, Any] = ast.literal_eval(path.read_text(encoding="ascii"))
    return payload


def dump_result(record: dict[str, Any]) -> bytes:
    text = ascii(record)
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError) as error:
        raise TypeError("the result is no Python literal") from error
    return text.encode("ascii")
