"""Hashing of files."""

import hashlib
import tracemalloc
from pathlib import Path

import pytest

from kinetic_core.wire.digest import sha256_of_file


@pytest.mark.parametrize("size_bytes", [0, 3, (1 << 16) - 1, 1 << 16, 3 << 20])
def test_a_file_of_any_size_is_hashed_whole(tmp_path: Path, size_bytes: int) -> None:
    content = bytes(range(256)) * (size_bytes // 256 + 1)
    tmp_path.joinpath("file").write_bytes(content[:size_bytes])
    assert sha256_of_file(tmp_path / "file") == hashlib.sha256(content[:size_bytes]).hexdigest()


def test_a_short_file_takes_no_buffer_for_a_long_one(tmp_path: Path) -> None:
    tmp_path.joinpath("file").write_bytes(b"abc")
    tracemalloc.start()
    try:
        sha256_of_file(tmp_path / "file")
        assert tracemalloc.get_traced_memory()[1] < 1 << 16
    finally:
        tracemalloc.stop()
