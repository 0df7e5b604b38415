"""The JSON format, as a module that any format of plain values could be."""

import json
from pathlib import Path
from typing import Any, Final

from kinetic_core.wire.jsonvalue import json_problem

SUFFIX: Final = ".json"


def load_payload(path: Path) -> dict[str, Any]:
    """Load a payload; `func` is still the description of the function.

    Raises:
        ValueError: It is no JSON.
    """
    with path.open("rb") as stream:
        payload: dict[str, Any] = json.load(stream)
        return payload


def dump_result(record: dict[str, Any]) -> bytes:
    """Return the bytes of a record.

    Raises:
        TypeError: The value is nothing that JSON holds; says where.
    """
    problem = json_problem(record["result"], "the result")
    if problem is not None:
        raise TypeError(f"{problem}, which JSON cannot hold: return plain values, or use serialization='pickle'")
    return json.dumps(record).encode("ascii")
