"""Calls that get many pieces, with a driver that answers from memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kinetic_runner import bulk, objects
from kinetic_runner.log import Log
from kinetic_runner.naming import naming

PIECE = bulk._PIECE_BYTES


class Driver:
    """Answers a call short in its first piece, and whole where that piece is asked for alone."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def cat_ranges(self, paths: Sequence[str], starts: Sequence[int], ends: Sequence[int], **_: Any) -> list[Any]:
        self.calls.append(len(paths))
        return [b"" if start == 0 else bytes(end - start) for start, end in zip(starts, ends, strict=True)]

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        return bytes(end - start)


def piece(number: int) -> bulk._Piece:
    wanted: Any = type("Wanted", (), {"path": "a", "url": "gs://b/a", "size_bytes": 9})
    return bulk._Piece(wanted=wanted, start=number * 3, end=number * 3 + 3)


def test_pieces_come_in_order_over_calls_and_a_short_one_is_asked_for_again() -> None:
    driver = Driver()
    came = list(bulk._fetched(driver, iter([[piece(0), piece(1)], [piece(2)]]), Log()))
    assert came == [bytes(3)] * 3
    assert driver.calls == [2, 1]
    assert list(bulk._fetched(driver, iter([]), Log())) == []


def test_a_call_takes_no_more_than_it_may() -> None:
    wanted: Any = type("Wanted", (), {"path": "a", "url": "gs://b/a", "size_bytes": 40 * PIECE})
    groups = list(bulk._grouped([wanted]))
    assert len(groups) > 1
    assert sum(len(group) for group in groups) == 40
    assert list(bulk._grouped([])) == []


def test_what_cannot_be_decoded_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Broken:
        def get_file(self, _: str, file: str) -> None:
            Path(file).write_bytes(b"half")
            raise OSError("cut")

    monkeypatch.setattr(objects, "open_url", lambda url: (Broken(), url))
    with pytest.raises(OSError, match="cut"):
        objects._get_decoded("gs://b/a", tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_an_error_that_names_its_file_keeps_the_name() -> None:
    with pytest.raises(FileNotFoundError) as caught, naming(Path("/other")):
        raise FileNotFoundError(2, "gone", "/mine")
    assert caught.value.filename == "/mine"
