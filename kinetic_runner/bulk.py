"""Getting objects of a cloud in few calls: many small ones at once, and long ones in pieces side by side."""

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kinetic_core.wire.transience import DamagedError
from kinetic_runner.fetch import download
from kinetic_runner.integrity import Check
from kinetic_runner.log import Log
from kinetic_runner.retry import retried

_PIECE_BYTES: Final = 16 << 20
_CALL_BYTES: Final = 4 * _PIECE_BYTES
"""What one call gets at most. Twice as much is in memory: what is written, and what comes next."""
_CALL_PIECES: Final = 256
_AT_ONCE: Final = 16
_VERSIONS: Final = ("etag", "ETag", "generation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An object whose size is known, and where it shall lie."""

    url: str
    path: str
    """As the driver calls it."""
    file: Path
    size_bytes: int
    told: Mapping[str, Any]
    """What the store says of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    wanted: Wanted
    start: int
    end: int


def get_in_bulk(system: Any, wanted: Sequence[Wanted], *, hashed: bool, log: Log) -> list[str]:
    """Write objects to their files, each whole or not at all, and return the SHA-256 of each.

    Args:
        system: The driver; asynchronous, so that one call has many requests under way and needs no thread for each.
        wanted: What to get; the directories are there.
        hashed: Whether anybody will compare the hashes; otherwise they are empty, and what the store tells is compared.
        log: Told of retries.

    Raises:
        OSError: One cannot be had, or not be written.
    """
    with closing(_fetched(system, _grouped(wanted), log)) as pieces:
        return [_write(system, one, pieces, hashed=hashed, log=log) for one in wanted]


def _write(system: Any, one: Wanted, pieces: Iterator[bytes], *, hashed: bool, log: Log) -> str:
    total, check = hashlib.sha256(), Check({} if hashed else one.told)
    try:
        with one.file.open("wb") as sink:
            for _ in _starts(one):
                data = next(pieces)
                sink.write(data)
                check.update(data)
                if hashed:
                    total.update(data)
        check.compare()
        if not hashed:
            _compare_version(system, one)
    except DamagedError as error:
        one.file.unlink()
        log.caution(f"{one.url} came other than it is stored ({error}); trying again")
        return retried(f"download of {one.url}", lambda: download(one.url, one.file), log=log)
    except BaseException:
        one.file.unlink(missing_ok=True)
        raise
    return total.hexdigest() if hashed else ""


def _starts(one: Wanted) -> range:
    return range(0, one.size_bytes, _PIECE_BYTES)


def _grouped(wanted: Sequence[Wanted]) -> Iterator[list[_Piece]]:
    """Yield what one call gets, until all are in order."""
    group: list[_Piece] = []
    size_bytes = 0
    for one in wanted:
        for start in _starts(one):
            piece = _Piece(wanted=one, start=start, end=min(start + _PIECE_BYTES, one.size_bytes))
            if group and (len(group) == _CALL_PIECES or size_bytes + piece.end - start > _CALL_BYTES):
                yield group
                group, size_bytes = [], 0
            group.append(piece)
            size_bytes += piece.end - start
    if group:
        yield group


def _fetched(system: Any, groups: Iterator[list[_Piece]], log: Log) -> Generator[bytes]:
    """Yield the data of all pieces in order; while one call's are written, the next call is under way."""
    with ThreadPoolExecutor(1, thread_name_prefix="kinetic-fetch") as ahead:
        before: tuple[list[_Piece], Future[list[Any]]] | None = None
        for group in groups:
            coming = ahead.submit(_ask, system, group)
            if before is not None:
                yield from _whole(system, *before, log)
            before = group, coming
        if before is not None:
            yield from _whole(system, *before, log)


def _ask(system: Any, group: Sequence[_Piece]) -> list[Any]:
    # By ranges, as names are then no patterns, and no driver asks for the size first.
    answers: list[Any] = system.cat_ranges(
        [piece.wanted.path for piece in group],
        [piece.start for piece in group],
        [piece.end for piece in group],
        batch_size=_AT_ONCE,
        on_error="return",
    )
    return answers


def _whole(system: Any, group: Sequence[_Piece], coming: Future[list[Any]], log: Log) -> Iterator[bytes]:
    answers = coming.result()
    for number, piece in enumerate(group):
        # Let go of, once it is written.
        answer, answers[number] = answers[number], None
        yield _retried(system, piece, answer, log)


def _retried(system: Any, piece: _Piece, answer: Any, log: Log) -> bytes:
    """Return what came, or ask for this piece alone; what came first counts as an attempt."""
    waiting = [answer]

    def get() -> bytes:
        data = waiting.pop() if waiting else system.cat_file(piece.wanted.path, start=piece.start, end=piece.end)
        if isinstance(data, BaseException):
            raise data
        if len(data) != piece.end - piece.start:
            # A body that is cut off without a word, or an object that is replaced just now.
            raise DamagedError(f"{piece.wanted.url}: {len(data)} bytes came of {piece.end - piece.start}")
        return bytes(data)

    return retried(f"download of {piece.wanted.url}", get, log=log)


def _compare_version(system: Any, one: Wanted) -> None:
    """Make sure that the pieces of a long object are of the same object, where the store tells no checksum."""
    if len(_starts(one)) < 2 or Check(one.told).has_checksum:  # noqa: PLR2004 - a single piece is of one
        return
    now = system.info(one.path)
    if [now.get(name) for name in _VERSIONS] != [one.told.get(name) for name in _VERSIONS]:
        raise DamagedError("it was replaced meanwhile")
