import io
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.model.listing import Listed
from kinetic_core.packaging.deflate import find_codec
from kinetic_core.packaging.packing import Changed, Packer, Run, Unread, batches, from_plain, is_long
from kinetic_core.packaging.scan import scan
from kinetic_core.packaging.source import CHUNK_BYTES
from kinetic_core.packaging.zipformat import LIMIT_32, Moments, central_header, end_of_archive, local_header
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow

FILES: dict[str, str | bytes] = {
    "a.txt": "text " * 100,
    "b/c.bin": random.Random(2).randbytes(500),
    "b/empty": "",
    "d/": "",
    "e": "end",
}


def packer(root: Path) -> Packer:
    return Packer(base=f"{root}/", codec=find_codec(), moments=Moments())


def test_a_run_closed_by_a_directory_is_an_archive(tmp_path: Path) -> None:
    (run,) = packer(grow(tmp_path, FILES)).pack(scan(tmp_path, NO_RULES).listing)
    assert isinstance(run, Run)
    directory = b"".join(run.directory(0))
    end = end_of_archive(entries=len(run.rows), offset=len(run.blob), size_bytes=len(directory))
    with zipfile.ZipFile(io.BytesIO(run.blob + directory + end)) as opened:
        assert opened.testzip() is None
        read = {info.filename: opened.read(info) for info in opened.infolist()}
    assert read == {name: data.encode() if isinstance(data, str) else data for name, data in FILES.items()}


def test_the_bytes_of_a_file_do_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    rows = scan(grow(tmp_path, FILES), NO_RULES).listing
    (together,) = packer(tmp_path).pack(rows)
    alone = [packer(tmp_path).pack([row])[0] for row in rows]
    assert isinstance(together, Run)
    assert together.blob == b"".join(piece.blob for piece in alone if isinstance(piece, Run))


@pytest.mark.parametrize("position", [0, 5, LIMIT_32 - 5_000, LIMIT_32, 1 << 40])
def test_the_records_of_a_run_are_those_of_its_entries(tmp_path: Path, position: int) -> None:
    """Where offsets take 64 bits too."""
    grow(tmp_path, {**FILES, "z.bin": random.Random(3).randbytes(9_000)})
    (run,) = packer(tmp_path).pack(scan(tmp_path, NO_RULES).listing)
    assert isinstance(run, Run)
    members = list(run.members(position))
    assert run.directory(position) == list(map(central_header, members))
    assert run.offsets(position) == [member.offset for member in members]
    for member in members:
        start = member.offset - position
        assert run.blob[start:].startswith(local_header(member))


@pytest.mark.parametrize(
    "said",
    [
        [], [None], [None] * 3, [None, "b"], [None, 7], [None, (1, 2)], [None, (b"", b"", [])],
        [(b"", b"", []), None, None], [(b"", b"?" * 26, [0])] * 3, [(b"", b"?" * 25, [0])] * 2, ["a", "b"],
    ],
)  # fmt: skip
def test_pieces_that_are_not_those_of_the_rows_are_refused(said: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"no piece|instead of 2"):
        from_plain(said, [row(1), row(2)])


def rewrite(path: Path) -> None:
    path.write_text("something else")


def rewrite_unseen(path: Path) -> None:
    before = path.stat()
    path.write_text("end".upper())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("change", [rewrite, rewrite_unseen, replace_by_a_pipe, lambda path: path.chmod(0o600)])
@pytest.mark.parametrize("name", ["a", "m", "z"])
def test_a_file_that_is_not_as_listed_stands_between_the_runs(
    tmp_path: Path, name: str, change: Callable[[Path], None]
) -> None:
    grow(tmp_path, {"a": "end", "m": "end", "z": "end"})
    rows = scan(tmp_path, NO_RULES).listing
    change(tmp_path / name)
    pieces = packer(tmp_path).pack(rows)
    assert [names(piece) for piece in pieces if isinstance(piece, Run)] == {
        "a": [["m", "z"]],
        "m": [["a"], ["z"]],
        "z": [["a", "m"]],
    }[name]
    assert [piece.row[0] for piece in pieces if isinstance(piece, Changed)] == [name]


def names(run: Run) -> list[str]:
    return [row[0] for row in run.rows]


def test_a_file_that_is_gone_comes_with_its_error(tmp_path: Path) -> None:
    grow(tmp_path, {"a": "1", "b": "2"})
    rows = scan(tmp_path, NO_RULES).listing
    (tmp_path / "b").unlink()
    run, unread = packer(tmp_path).pack(rows)
    assert isinstance(run, Run)
    assert isinstance(unread, Unread)
    assert isinstance(unread.error, FileNotFoundError)
    assert run.starts == [0]


def test_nothing_gives_no_piece(tmp_path: Path) -> None:
    assert packer(tmp_path).pack([]) == []


def row(size: int, name: str = "f") -> Listed:
    return name, (0o100644, 1, 1, 1, 0, 0, size), 0, 0


def test_batches_are_bounded_by_bytes_and_by_number() -> None:
    assert [len(batch) for batch in batches([row(10)] * 300)] == [128, 128, 44]
    assert [len(batch) for batch in batches([row(200 << 10)] * 5)] == [2, 2, 1]
    assert list(batches([])) == []


def test_a_file_of_a_mebibyte_is_long_and_a_directory_never() -> None:
    assert is_long(row(CHUNK_BYTES))
    assert not is_long(row(CHUNK_BYTES - 1))
    assert not is_long(row(CHUNK_BYTES, "d/"))


def test_a_small_file_costs_four_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = scan(grow(tmp_path, {f"f{number}": "x" for number in range(50)}), NO_RULES).listing
    calls = {"open": 0, "read": 0, "fstat": 0, "close": 0}
    for name in calls:
        monkeypatch.setattr(os, name, counted(name, getattr(os, name), calls))
    packer(tmp_path).pack(rows)
    monkeypatch.undo()
    assert calls == dict.fromkeys(calls, 50)


def counted(name: str, function: Callable[..., object], calls: dict[str, int]) -> Callable[..., object]:
    def call(*args: object, **kwargs: object) -> object:
        calls[name] += 1
        return function(*args, **kwargs)

    return call
