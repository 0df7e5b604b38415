import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kinetic_core.packaging import packserver
from kinetic_core.packaging.deflate import find_codec
from kinetic_core.packaging.packing import Changed, Packer, Unread, from_plain
from kinetic_core.packaging.packserver import LOOK, PACK, conditions_of, receive, send, serve
from kinetic_core.packaging.scan import scan
from kinetic_core.packaging.zipformat import Moments
from tests.architecture.source import ROOT
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow

LIBRARY = tuple(find_codec().library)
CONDITIONS = conditions_of(find_codec().name)


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
    rows = scan(grow(tmp_path, {"a": "text", "b/": "", "c": "more" * 900}), NO_RULES).listing.rows
    server = Server()
    send(server.asking, (packserver.CONDITIONS, f"{tmp_path}/", LIBRARY, CONDITIONS))
    for batch in (rows[:2], rows[2:]):
        send(server.asking, (PACK, batch, {row[2] // 10**9: (33, 7) for row in batch}))
        moments = Moments({row[2] // 10**9: (33, 7) for row in batch})
        packer = Packer(base=f"{tmp_path}/", codec=find_codec(), moments=moments)
        assert from_plain(receive(server.answers), batch) == packer.pack(batch)
    server.end()


def test_what_was_not_packed_is_told_in_its_place(tmp_path: Path) -> None:
    grow(tmp_path, {"a": "text", "b": "gone", "c": "more", "d": "changed", "e": "end"})
    rows = scan(tmp_path, NO_RULES).listing.rows
    (tmp_path / "b").unlink()
    (tmp_path / "d").write_text("another text")
    pieces = Packer(base=f"{tmp_path}/", codec=find_codec(), moments=Moments()).pack(rows)
    server, moments = Server(), Moments()
    send(server.asking, (packserver.CONDITIONS, f"{tmp_path}/", LIBRARY, CONDITIONS))
    send(server.asking, (PACK, rows, {row[2] // 10**9: moments[row[2] // 10**9] for row in rows}))
    first, unread, second, changed, third = from_plain(receive(server.answers), rows)
    server.end()
    assert [first, second, changed, third] == [pieces[0], pieces[2], Changed(rows[3]), pieces[4]]
    assert isinstance(unread, Unread)
    assert (unread.row, type(unread.error), unread.error.filename) == (rows[1], FileNotFoundError, f"{tmp_path}/b")


def test_names_are_looked_at_before_and_after_anything_is_packed(tmp_path: Path) -> None:
    listing = scan(grow(tmp_path, {"a": "text", "b/c": "more"}), NO_RULES).listing
    (block,) = listing.blocks
    base = os.fsencode(f"{tmp_path}/")
    server = Server()
    send(server.asking, (LOOK, base, block.names))
    assert receive(server.answers) == block.looks
    send(server.asking, (packserver.CONDITIONS, f"{tmp_path}/", LIBRARY, CONDITIONS))
    send(server.asking, (LOOK, base, b"a\0there is no such file"))
    assert receive(server.answers) == b""
    server.end()


def test_under_other_conditions_nothing_is_packed() -> None:
    server = Server()
    send(server.asking, (packserver.CONDITIONS, "/", LIBRARY, (*CONDITIONS[:-1], "other")))
    send(server.asking, (PACK, [], {}))
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


BOOT = "import sys; sys.path += sys.argv[1:]; from kinetic_core.packaging import packserver; print(*sys.modules)"


def test_it_loads_nothing_that_takes_its_time() -> None:
    """By itself `typing` takes longer than all that the process needs."""
    command = [sys.executable, "-I", "-S", "-c", BOOT, str(ROOT)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert not {"typing", "collections", "re", "enum", "functools", "attr", "dataclasses", "inspect"} & set(loaded)
    assert {name for name in loaded if name.startswith("kinetic_core.")} == {
        "kinetic_core.model",
        "kinetic_core.model.listing",
        "kinetic_core.model.looks",
        "kinetic_core.packaging",
        "kinetic_core.packaging.packserver",
        "kinetic_core.packaging.smallfiles",
        "kinetic_core.packaging.streams",
    }
