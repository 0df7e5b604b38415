from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_local import logfile
from kinetic_local.logfile import read_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def read(log: Path, *, tail: int | None = None) -> str:
    return "".join(read_log(log, tail=tail, ended=lambda: True, pause=None))


def test_a_log_that_is_not_there_is_empty(log: Path) -> None:
    assert read(log) == read(log, tail=3) == read(log / "below") == ""


def test_an_unterminated_last_line_is_kept(log: Path) -> None:
    log.write_bytes(b"\none\n\ntwo")
    assert read(log) == "\none\n\ntwo"


def test_undecodable_bytes_are_replaced_also_at_the_very_end(log: Path) -> None:
    log.write_bytes(b"a\xffb\xe6\x97")
    assert read(log) == "a\ufffdb\ufffd"


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_glyph_that_two_reads_split_is_joined(log: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(logfile, "_BLOCK_BYTES", size)
    log.write_text("naïve 日本 🙂 end")
    assert read(log) == "naïve 日本 🙂 end"


@pytest.mark.parametrize("size", [1, 4, 1 << 16])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [(0, ""), (-1, ""), (1, "three\n"), (2, "\nthree\n"), (3, "one\n\nthree\n"), (9, "one\n\nthree\n")],
)
def test_a_tail_is_the_last_lines(
    log: Path, monkeypatch: pytest.MonkeyPatch, size: int, lines: int, expected: str
) -> None:
    monkeypatch.setattr(logfile, "_BLOCK_BYTES", size)
    log.write_bytes(b"one\n\nthree\n")
    assert read(log, tail=lines) == expected


@given(data=st.binary(max_size=60).map(lambda data: data.replace(b"x", b"\n")), lines=st.integers(1, 9))
def test_a_tail_agrees_with_splitting_the_whole(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, lines: int
) -> None:
    log = tmp_path_factory.mktemp("log") / "log"
    log.write_bytes(data)
    parts = data.removesuffix(b"\n").split(b"\n") if data else []
    expected = b"\n".join(parts[-lines:]) + (b"\n" if data.endswith(b"\n") else b"")
    assert read(log, tail=lines) == expected.decode(errors="replace")


def steps(*actions: Callable[[], object]) -> tuple[Callable[[], bool], Callable[[], None]]:
    """Return `ended` and `pause` for a writer that does one thing at each pause, and then has ended."""
    left = list(actions)

    def pause() -> None:
        left.pop(0)()

    return lambda: not left, pause


def test_a_followed_log_is_read_until_its_writer_ended_and_each_byte_once(log: Path) -> None:
    def write(data: bytes) -> Callable[[], object]:
        def append() -> None:
            with log.open("ab") as stream:
                stream.write(data)

        return append

    ended, pause = steps(lambda: None, write(b"one\xe6"), lambda: None, write(b"\x97\xa5 two\n"), write(b"last"))
    assert list(read_log(log, tail=None, ended=ended, pause=pause)) == ["one", "日 two\n", "last"]


def test_a_followed_log_that_is_removed_ends_all_the_same(log: Path) -> None:
    log.write_bytes(b"one\n")
    ended, pause = steps(log.unlink, lambda: None)
    assert list(read_log(log, tail=None, ended=ended, pause=pause)) == ["one\n"]


def test_a_reader_who_leaves_early_leaves_no_file_open(log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = read_log(log, tail=None, ended=lambda: False, pause=lambda: None)
    assert next(iter(reader)) == "one\n"
    del reader
