"""The plain record: a result whose exception is described, for formats that hold values and no objects."""

from typing import Any

from kinetic_core.errors import RemoteError
from kinetic_core.wire.result import Result, read_result


def plain_record(result: Result, message: str) -> dict[str, Any]:
    """Return the dict of a result with its exception as `{"type": …, "module": …, "message": …}`.

    Args:
        result: What to describe; its value stays as it is.
        message: The exception's own message; unused where there is none.

    >>> plain_record(Result(success=False, exception=KeyError("x")), "no x")["exception"]
    {'type': 'KeyError', 'module': 'builtins', 'message': 'no x'}
    """
    made = result.to_dict()
    error = result.exception
    if error is not None:
        made["exception"] = {
            "type": type(error).__qualname__,
            "module": type(error).__module__,
            "message": message,
        }
    return made


def read_plain_record(raw: object) -> Result:
    """Read what `plain_record` made; a described exception becomes a `RemoteError`.

    Raises:
        ValueError: It is no such record.

    >>> described = {"type": "KeyError", "module": "builtins", "message": "no x"}
    >>> read_plain_record({"success": False, "exception": described}).exception
    RemoteError('KeyError: no x')
    """
    described = raw.get("exception") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or described is None:
        return read_result(raw)
    if not isinstance(described, dict) or not {"type", "message"} <= described.keys():
        raise ValueError(f"the record describes no exception: {described!r}")
    error = RemoteError(
        f"{described['type']}: {described['message']}",
        type_name=".".join(filter(None, (described.get("module"), described["type"]))),
        message=described["message"],
        traceback=raw.get("traceback"),
    )
    return read_result({**raw, "exception": error})
