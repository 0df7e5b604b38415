"""Sizes as people write them."""

import pytest

from kinetic_core.model.quantity import size_in_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("2k", 2_000), ("3M", 3_000_000), ("1Ki", 1024), ("1.5Gi", 3 << 29), (" 4Ti ", 4 << 40), ("1E", 10**18)],
)
def test_a_size_is_read_with_its_unit(text: str, size: int) -> None:
    assert size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "0", "Mi", "-1", "1 Mi", "1K", "1mi", "1e9", "0.5", "1GB", "٣"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no size; write one such as 512Mi or 2G"):
        size_in_bytes(text)
