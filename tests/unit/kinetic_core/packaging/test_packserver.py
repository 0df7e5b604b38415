import os
import threading
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.packaging.deflate import find_codec
from kinetic_core.packaging.packing import Changed, Packer, Unread
from kinetic_core.packaging.packserver import conditions_of, from_plain, receive, send, serve, to_plain
from kinetic_core.packaging.scan import scan
from kinetic_core.packaging.zipformat import Moments
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow

CONDITIONS = conditions_of(find_codec())


class Server:
    """The other end, in a thread of this process."""

    def __init__(self) -> None:
        theirs, self.asking = os.pipe()
        self.answers, writing = os.pipe()
        self.ends = [theirs, writing]
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        serve(*self.ends)
        os.close(self.ends[1])

    def end(self) -> None:
        os.close(self.asking)
        self.thread.join()


def test_batches_are_packed_until_nobody_asks(tmp_path: Path) -> None:
    rows = scan(grow(tmp_path, {"a": "text", "b/": "", "c": "more" * 900}), NO_RULES).listing
    server = Server()
    for batch in (rows[:2], rows[2:]):
        send(server.asking, (f"{tmp_path}/", CONDITIONS, batch, {row[2] // 10**9: (33, 7) for row in batch}))
        moments = Moments({row[2] // 10**9: (33, 7) for row in batch})
        packer = Packer(base=f"{tmp_path}/", codec=find_codec(), moments=moments)
        assert from_plain(receive(server.answers), batch) == packer.pack(batch)
    server.end()


def test_what_was_not_packed_is_told_in_its_place(tmp_path: Path) -> None:
    grow(tmp_path, {"a": "text", "b": "gone", "c": "more", "d": "changed", "e": "end"})
    rows = scan(tmp_path, NO_RULES).listing
    (tmp_path / "b").unlink()
    (tmp_path / "d").write_text("another text")
    pieces = Packer(base=f"{tmp_path}/", codec=find_codec(), moments=Moments()).pack(rows)
    first, unread, second, changed, third = from_plain(list(to_plain(pieces)), rows)
    assert [first, second, changed, third] == [pieces[0], pieces[2], Changed(rows[3]), pieces[4]]
    assert isinstance(unread, Unread)
    assert (unread.row, type(unread.error), unread.error.filename) == (rows[1], FileNotFoundError, f"{tmp_path}/b")


@pytest.mark.parametrize("said", [[], [None], [None] * 3, [(b"", [])] * 2, [None, "b"], [None, (1, 2)], [None, 7]])
def test_pieces_that_are_not_those_of_the_rows_are_refused(tmp_path: Path, said: list[Any]) -> None:
    rows = scan(grow(tmp_path, {"a": "text", "b": "text"}), NO_RULES).listing
    with pytest.raises((ValueError, IndexError)):
        from_plain(said, rows)


def test_under_other_conditions_nothing_is_packed() -> None:
    server = Server()
    send(server.asking, ("/", (*CONDITIONS[:-1], "other"), [], {}))
    with pytest.raises(EOFError):
        receive(server.answers)
    server.end()


def test_a_message_cut_off_is_no_message() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"\x05\0\0\0\0\0\0\0abc")
    os.close(writing)
    with pytest.raises(EOFError):
        receive(reading)


def test_a_length_that_no_message_has_is_refused_unread() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"usage: a")
    with pytest.raises(ValueError, match="a message of"):
        receive(reading)


def test_a_message_longer_than_a_pipe_arrives_whole() -> None:
    reading, writing = os.pipe()
    thread = threading.Thread(target=send, args=(writing, b"x" * 300_000))
    thread.start()
    assert receive(reading) == b"x" * 300_000
    thread.join()
