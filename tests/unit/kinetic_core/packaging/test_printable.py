import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.packaging.printable import printable


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"bad\xff.txt", r"bad\xff.txt"),
        (b"two\nlines", r"two\nlines"),
        (b"\x1b[31m", r"\x1b[31m"),
        ("naïve-日本.txt".encode(), "naïve-日本.txt"),
        (b"back\\slash", "back\\slash"),
    ],
)
def test_a_name_is_shown_on_one_line_with_what_cannot_be_printed_escaped(raw: bytes, shown: str) -> None:
    assert printable(os.fsdecode(raw)) == shown


@given(st.binary(max_size=40))
def test_any_file_name_can_be_printed_and_encoded(raw: bytes) -> None:
    shown = printable(raw.decode("utf-8", "surrogateescape"))
    assert shown.isprintable()
    shown.encode()
