import hashlib
import os
import zlib
from pathlib import Path

import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.packaging.output import Output
from kinetic_core.packaging.source import COPIED_BYTES
from tests.fakes.holding import own_threads
from tests.fakes.threadless import no_more_threads


@pytest.fixture(params=[False, True], ids=["same thread", "own thread"])
def own_thread(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_what_is_written_is_hashed_and_moved_into_place(target: Path, *, own_thread: bool) -> None:
    with Output(target, crc32=zlib.crc32, own_thread=own_thread) as output:
        output.write(b"abc")
        output.write(b"def" * 1000)
        assert not target.exists()
        output.finish()
    data = b"abc" + b"def" * 1000
    assert target.read_bytes() == data
    assert (output.position, output.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert output.crc == zlib.crc32(data)
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_a_tail_that_was_taken_back_leaves_no_trace_also_twice(target: Path, *, own_thread: bool) -> None:
    with Output(target, crc32=zlib.crc32, own_thread=own_thread) as output:
        output.write(b"kept")
        mark = output.mark()
        for tail in (b"first", b"a second and longer one"):
            output.write(tail)
            output.take_back(mark)
        output.write(b"end")
        output.finish()
    assert target.read_bytes() == b"keptend"
    assert output.sha256 == hashlib.sha256(b"keptend").hexdigest()
    assert output.crc == zlib.crc32(b"keptend")


@pytest.mark.parametrize("sizes", [[1 << 18], [(1 << 18) - 1, 2], [100_000] * 9, [(1 << 20) + 1] * 3])
def test_long_pieces_are_hashed_as_they_stand(target: Path, sizes: list[int], *, own_thread: bool) -> None:
    pieces = [os.urandom(size) for size in sizes]
    with own_threads() as threads, Output(target, crc32=zlib.crc32, own_thread=own_thread) as output:
        for piece in pieces:
            output.write(piece)
            mark = output.mark()
            output.write(piece[::-1])
            output.take_back(mark)
        output.finish()
    assert output.sha256 == hashlib.sha256(b"".join(pieces)).hexdigest()
    assert target.read_bytes() == b"".join(pieces)
    assert threads.alive == []


@pytest.mark.parametrize("failure", [OSError(5, "Input/output error"), None])
def test_what_cannot_be_read_back_to_be_hashed_is_an_error(
    target: Path, monkeypatch: pytest.MonkeyPatch, failure: OSError | None
) -> None:
    def failing(*_: object) -> int:
        if failure is not None:
            raise failure
        return 0

    monkeypatch.setattr(os, "preadv", failing)
    with own_threads() as threads, Output(target, crc32=zlib.crc32, own_thread=True) as output:
        output.write(bytes(1 << 19))
        with pytest.raises(PackagingError, match="cannot be written"):
            output.mark()
        with pytest.raises(PackagingError, match="cannot be written"):
            output.finish()
    assert list(target.parent.iterdir()) == []
    assert threads.alive == []


def test_a_stretch_of_another_file_is_copied(target: Path, tmp_path: Path, *, own_thread: bool) -> None:
    data = os.urandom(COPIED_BYTES * 2 + 100)
    (tmp_path / "other").write_bytes(data)
    descriptor = os.open(tmp_path / "other", os.O_RDONLY)
    try:
        with Output(target, crc32=zlib.crc32, own_thread=own_thread) as output:
            output.copy(descriptor, 10, len(data) - 10)
            output.copy(descriptor, 5, 5)
            output.finish()
    finally:
        os.close(descriptor)
    assert target.read_bytes() == data[10:-10]


def test_a_file_that_ends_early_is_told(target: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"abc")
    descriptor = os.open(tmp_path / "other", os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="ends early"), Output(target, crc32=zlib.crc32) as output:
            output.copy(descriptor, 0, 4)
    finally:
        os.close(descriptor)
    assert list(target.parent.iterdir()) == []


def test_a_tail_that_cannot_be_taken_back_is_an_error(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Output(target, crc32=zlib.crc32) as output:
        mark = output.mark()
        output.write(b"abc")
        # No file system fails here at will.
        monkeypatch.setattr(output._file, "truncate", refuse)
        with pytest.raises(PackagingError, match="cannot be written"):
            output.take_back(mark)
    assert list(target.parent.iterdir()) == []


def test_a_close_that_fails_is_an_error_before_the_file_is_in_place(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Output(target, crc32=zlib.crc32) as output:
        output.write(b"abc")
        close = output._file.close

        def close_badly() -> None:
            close()
            refuse()

        # As a network file system does.
        monkeypatch.setattr(output._file, "close", close_badly)
        with pytest.raises(PackagingError, match="disk quota"):
            output.finish()
    assert list(target.parent.iterdir()) == []


def refuse(*_: object) -> int:
    raise OSError(122, "disk quota exceeded")


def test_where_no_thread_can_be_had_the_callers_own_hashes(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_more_threads(monkeypatch)
    with Output(target, crc32=zlib.crc32, own_thread=True) as output:
        output.write(b"abc")
        output.finish()
    assert output.sha256 == hashlib.sha256(b"abc").hexdigest()


def test_no_thread_is_left_where_nothing_can_be_written(tmp_path: Path) -> None:
    with own_threads() as threads, pytest.raises(PackagingError):
        Output(tmp_path / "missing" / "x", crc32=zlib.crc32, own_thread=True)
    assert threads.alive == []
