import os
from pathlib import Path

from kinetic_core.packaging.presence import exists, is_directory, is_file
from tests.unit.kinetic_core.packaging.trees import unprivileged_folder


def test_a_file_and_a_directory_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert (is_file(tmp_path / "file"), is_directory(tmp_path / "file")) == (True, False)
    assert (is_file(tmp_path), is_directory(tmp_path)) == (False, True)


def test_a_fifo_is_neither_but_exists(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert (is_file(tmp_path / "pipe"), is_directory(tmp_path / "pipe")) == (False, False)
    assert exists(tmp_path / "pipe")


def test_what_lies_in_a_closed_directory_counts_as_absent() -> None:
    with unprivileged_folder() as folder:
        (folder / "closed").mkdir()
        (folder / "closed" / "file").touch()
        (folder / "closed").chmod(0)
        hidden = folder / "closed" / "file"
        assert (is_file(hidden), is_directory(hidden), exists(hidden)) == (False, False, False)
        (folder / "closed").chmod(0o700)
