"""The file that a payload is written into."""

import hashlib
import io
import os
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.packaging.sink import HashedFile, WriteError
from tests.fakes.full_disk import full_disk
from tests.fakes.holding import own_threads
from tests.fakes.threadless import no_more_threads

MIB = 1 << 20


def opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


@pytest.mark.parametrize(
    "pieces", [[], [b"abc"], [b"a" * 10] * 7, [b"b" * MIB], [b"c" * (MIB - 1), b"d"], [bytes(70_000)] * 100]
)
@pytest.mark.parametrize("held", [0, MIB, 1 << 40])
def test_what_is_written_is_in_the_file_and_hashed(
    tmp_path: Path, pieces: list[bytes], held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_core.packaging.sink._HELD_BYTES", held)
    whole = b"".join(pieces)
    with HashedFile(opened(tmp_path / "file")) as sink:
        assert [sink.write(piece) for piece in pieces] == list(map(len, pieces))
        assert sink.hexdigest() == hashlib.sha256(whole).hexdigest()
        assert sink.size_bytes == len(whole)
    assert (tmp_path / "file").read_bytes() == whole


def test_where_no_thread_can_be_had_it_is_hashed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetic_core.packaging.sink._HELD_BYTES", MIB)
    no_more_threads(monkeypatch)
    with HashedFile(opened(tmp_path / "file")) as sink:
        for _ in range(3):
            sink.write(bytes(MIB))
        assert sink.hexdigest() == hashlib.sha256(bytes(3 * MIB)).hexdigest()


def test_buffers_of_any_shape_are_written_as_their_bytes(tmp_path: Path) -> None:
    numbers = memoryview(bytearray(8 * MIB)).cast("Q")
    numbers[5] = 7
    with HashedFile(opened(tmp_path / "file")) as sink:
        assert sink.write(numbers) == 8 * MIB
        digest = sink.hexdigest()
    assert digest == hashlib.sha256((tmp_path / "file").read_bytes()).hexdigest()
    assert (tmp_path / "file").read_bytes()[40] == 7


def test_whoever_leaves_early_waits_for_no_hash_and_leaves_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_core.packaging.sink._HELD_BYTES", MIB)
    held = threading.Event()
    read = []
    original = os.preadv

    def slow(descriptor: int, buffers: Any, offset: int) -> int:
        held.wait(60)
        read.append(offset)
        return original(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", slow)
    with own_threads() as threads, HashedFile(opened(tmp_path / "file")) as sink:
        sink.write(bytes(64 * MIB))
        held.set()
    assert len(read) < 64
    assert threads.alive == []


class OnePart(io.FileIO):
    """Takes a part of what it is given, as one call of the system may."""

    def write(self, data: Any) -> int:
        return super().write(data[: max(1, len(data) // 2)])


def test_what_is_not_long_is_not_read_before_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise AssertionError

    monkeypatch.setattr(os, "preadv", refuse)
    with HashedFile(opened(tmp_path / "file")) as sink:
        sink.write(bytes(8 * MIB))
    assert (tmp_path / "file").read_bytes() == bytes(8 * MIB)


def test_what_the_system_takes_in_parts_arrives_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetic_core.packaging.sink.FileIO", OnePart)
    with HashedFile(opened(tmp_path / "file")) as sink:
        sink.write(b"0123456789")
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_a_full_disk_is_told_as_that(tmp_path: Path) -> None:
    with (
        full_disk(100),
        pytest.raises(WriteError) as raised,
        HashedFile(opened(tmp_path / "file")) as sink,
    ):
        sink.write(bytes(1_000))
    assert isinstance(raised.value.__cause__, OSError)


@pytest.mark.parametrize("held", [MIB, 1 << 40])
@pytest.mark.parametrize("failure", [OSError(5, "Input/output error"), None])
def test_what_cannot_be_read_back_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: OSError | None, held: int
) -> None:
    monkeypatch.setattr("kinetic_core.packaging.sink._HELD_BYTES", held)

    def failing(*_: object) -> int:
        if failure is not None:
            raise failure
        return 0

    monkeypatch.setattr(os, "preadv", failing)
    with HashedFile(opened(tmp_path / "file")) as sink:
        sink.write(bytes(2 * MIB))
        with pytest.raises(WriteError):
            sink.hexdigest()


def test_a_file_that_cannot_be_closed_is_told(tmp_path: Path) -> None:
    descriptor = opened(tmp_path / "file")
    with pytest.raises(WriteError), HashedFile(descriptor):
        os.close(descriptor)


def test_a_short_file_is_hashed_without_a_buffer_for_a_long_one(tmp_path: Path) -> None:
    with HashedFile(opened(tmp_path / "file")) as sink:
        sink.write(b"abc")
        tracemalloc.start()
        try:
            sink.hexdigest()
            peak_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak_bytes < MIB // 4
