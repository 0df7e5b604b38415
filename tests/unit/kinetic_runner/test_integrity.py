from typing import Any

import pytest

from kinetic_core.wire.transience import DamagedError
from kinetic_runner.integrity import Check


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
        {"crc32c": "Nks/tw=="},
        # A checksum of either kind is enough, and this one is the quicker.
        {"crc32c": "Nks/tw==", "md5Hash": "AAAAAAAAAAAAAAAAAAAAAA=="},
    ],
)
def test_what_the_store_tells_is_compared_as_far_as_it_goes(told: dict[str, Any] | None) -> None:
    check = Check(told)
    check.update(b"ab")
    check.update(b"c")
    check.compare()


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"size": 4}, "3 bytes instead of 4"),
        ({"md5Hash": "AAAAAAAAAAAAAAAAAAAAAA=="}, "checksum"),
        ({"crc32c": "AAAAAA=="}, "checksum"),
    ],
)
def test_other_bytes_are_refused(told: dict[str, Any], message: str) -> None:
    check = Check(told)
    check.update(b"abc")
    with pytest.raises(DamagedError, match=message):
        check.compare()
