"""The plain record: what it keeps of an exception, and what it refuses to read."""

import json

import pytest

from kinetic_core.errors import RemoteError
from kinetic_core.wire.plain import plain_record, read_plain_record
from kinetic_core.wire.result import Result


class OddError(Exception):
    pass


def test_a_failure_survives_a_format_that_holds_values_only() -> None:
    failed = Result(success=False, exception=OddError(1), traceback="File x", phase="execute", host_index=2)
    home = read_plain_record(json.loads(json.dumps(plain_record(failed, "one"))))
    assert isinstance(home.exception, RemoteError)
    assert str(home.exception) == "OddError: one"
    assert (home.exception.type_name, home.exception.message) == (f"{__name__}.OddError", "one")
    assert home.exception.traceback == home.traceback == "File x"
    assert (home.success, home.phase, home.host_index) == (False, "execute", 2)


def test_a_value_travels_untouched_and_without_an_exception() -> None:
    value = {(1, 2)}
    raw = plain_record(Result(success=True, result=value), "")
    assert raw["exception"] is None
    assert read_plain_record(raw).result is value


@pytest.mark.parametrize(
    "raw", [None, [], {}, {"success": False, "exception": "x"}, {"success": False, "exception": {"type": "E"}}]
)
def test_what_is_no_such_record_is_a_value_error(raw: object) -> None:
    with pytest.raises(ValueError, match=r"not a result record|describes no exception"):
        read_plain_record(raw)
