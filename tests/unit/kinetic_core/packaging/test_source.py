import os
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.packaging.source import CHUNK_BYTES, Source, is_same
from tests.fakes.holding import opened_below


def test_a_file_is_read_whole_in_pieces(tmp_path: Path) -> None:
    data = bytes(range(256)) * (CHUNK_BYTES // 128)
    (tmp_path / "f").write_bytes(data)
    with Source(str(tmp_path / "f")) as source:
        pieces = list(source.chunks())
        assert source.is_unchanged()
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= CHUNK_BYTES


def test_no_more_is_read_than_there_was_when_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    with Source(str(path)) as source:
        path.write_bytes(b"12345678")
        assert b"".join(source.chunks()) == b"12345"
        assert not source.is_unchanged()


def test_a_file_that_shrinks_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    with Source(str(path)) as source:
        os.truncate(path, 2)
        assert b"".join(source.chunks()) == b"12"
        assert not source.is_unchanged()


def test_a_file_written_over_in_place_is_seen_by_its_time(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    with Source(str(path)) as source:
        list(source.chunks())
        os.utime(path, ns=(1, 1))
        assert not source.is_unchanged()


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_what_is_no_regular_file_any_more_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "f"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(OSError, match="no regular file"):
        Source(str(path))
    assert opened_below(tmp_path) == []


def test_two_looks_at_a_file_differ_by_size_or_time(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"1")
    os.utime(path, ns=(5, 5))
    one = path.stat()
    path.write_bytes(b"12")
    os.utime(path, ns=(5, 5))
    assert not is_same(one, path.stat())
    os.truncate(path, 1)
    os.utime(path, ns=(5, 5))
    assert is_same(one, path.stat())


def test_pieces_are_cut_at_the_same_places_when_the_file_system_gives_less_than_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(range(256)) * (CHUNK_BYTES // 128) + b"rest"
    (tmp_path / "f").write_bytes(data)
    read: Any = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, size: read(descriptor, min(size, 300_000)))
    with Source(str(tmp_path / "f")) as source:
        pieces = list(source.chunks())
    assert [len(piece) for piece in pieces] == [CHUNK_BYTES, CHUNK_BYTES, 4]
    assert b"".join(pieces) == data
