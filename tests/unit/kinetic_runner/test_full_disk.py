"""A disk that is full: whatever the runner writes to it, the error names the file."""

import errno
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetic_runner.copying import copy_file, copy_tree
from kinetic_runner.fetch import download
from tests.fakes.full_disk import full_disk
from tests.unit.kinetic_runner.box import Box, entry

CONTENT = os.urandom(400_000)
LIMIT_BYTES = 100_000


def fails(act: Callable[[], object], path: Path) -> None:
    with full_disk(LIMIT_BYTES), pytest.raises(OSError, match="File too large") as caught:
        act()
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))


@pytest.mark.parametrize("content", [CONTENT, CONTENT * 5], ids=["at once", "in pieces"])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_file_of_the_context(box: Box, method: int, content: bytes) -> None:
    box.zip(("first.py", ""), (entry("deep/data.bin", compress_type=method), content))
    fails(box.extract, box.workspace / "deep" / "data.bin")


def test_a_file_of_the_context_that_is_in_the_way(box: Box) -> None:
    box.zip((entry("deep/data.bin"), b""))
    box.workspace.joinpath("deep").mkdir(parents=True)
    box.workspace.joinpath("deep/data.bin").touch()
    with pytest.raises(FileExistsError) as caught:
        box.extract()
    assert caught.value.filename == str(box.workspace / "deep" / "data.bin")


def test_a_directory_of_the_context_that_goes_away(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.zip((entry("deep/data.bin"), b""))
    monkeypatch.setattr("kinetic_runner.workspace._Extraction._make_directories", lambda *_: None)
    with pytest.raises(FileNotFoundError) as caught:
        box.extract()
    assert caught.value.filename == str(box.workspace / "deep")


def test_a_file_of_the_context_that_the_second_process_writes(box: Box) -> None:
    small = [(f"d{index % 50}/{index}", b"x") for index in range(5_000)]
    large = [(f"e{index}/data.bin", CONTENT) for index in range(4)]
    box.zip(*large[:2], *small, *large[2:])
    with full_disk(LIMIT_BYTES), pytest.raises(OSError, match="File too large") as caught:
        box.extract()
    assert Path(caught.value.filename).is_relative_to(box.workspace)


def test_a_copy_of_local_data(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    source.joinpath("data.bin").write_bytes(CONTENT)
    fails(lambda: copy_file(source / "data.bin", tmp_path / "copy"), tmp_path / "copy")
    fails(lambda: copy_tree(source, target), target / "data.bin")


def test_what_is_downloaded(tmp_path: Path, memory: Any) -> None:
    memory.pipe_file("/data.bin", CONTENT)
    fails(lambda: download("memory://data.bin", tmp_path / "data.bin"), tmp_path / "data.bin")
