from typing import Any

import pytest

from kinetic_core.wire.transience import DamagedError
from kinetic_runner.integrity import Md5


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        {"size": 3},
        {"md5Hash": "kAFQmDzST7DWlj99KOF/cg=="},
        {"md5Hash": "no base64!"},
        {"ETag": '"900150983cd24fb0d6963f7d28e17f72"'},
        {"ETag": '"00000000000000000000000000000000"', "ServerSideEncryption": "aws:kms"},
        {"ETag": '"00000000000000000000000000000000-2"'},
    ],
)
def test_what_the_store_tells_is_compared_as_far_as_it_goes(told: dict[str, Any] | None) -> None:
    check = Md5(told)
    check.update(b"ab")
    check.update(b"c")
    check.compare()


@pytest.mark.parametrize(
    ("told", "message"), [({"size": 4}, "3 bytes instead of 4"), ({"md5Hash": "AAAAAAAAAAAAAAAAAAAAAA=="}, "checksum")]
)
def test_other_bytes_are_refused(told: dict[str, Any], message: str) -> None:
    check = Md5(told)
    check.update(b"abc")
    with pytest.raises(DamagedError, match=message):
        check.compare()
