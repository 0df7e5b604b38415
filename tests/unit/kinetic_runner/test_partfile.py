"""A file that cannot be written is told apart from what is written into it."""

import errno
from pathlib import Path

import pytest

from kinetic_runner.partfile import PartFile, UnwrittenError

FULL = Path("/dev/full")
needs_full_device = pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
# More than any buffer between the file and the device holds.
MUCH = b"x" * (4 << 20)


def test_what_was_written_is_there(tmp_path: Path) -> None:
    with PartFile(tmp_path / "part") as part:
        assert part.write(b"abc") == 3
    assert (tmp_path / "part").read_bytes() == b"abc"


def test_a_file_that_cannot_be_opened_is_unwritten(tmp_path: Path) -> None:
    with pytest.raises(UnwrittenError) as caught:
        PartFile(tmp_path / "gone/part")
    error = caught.value.as_os_error()
    assert isinstance(error, FileNotFoundError)
    assert error.filename == str(tmp_path / "gone/part")


@needs_full_device
def test_a_write_that_fails_is_unwritten() -> None:
    with pytest.raises(UnwrittenError) as caught, PartFile(FULL) as part:
        part.write(MUCH)
    assert caught.value.as_os_error().errno == errno.ENOSPC


@needs_full_device
def test_what_fails_only_on_closing_is_unwritten() -> None:
    with pytest.raises(UnwrittenError), PartFile(FULL) as part:
        part.write(b"still in the buffer")


@needs_full_device
def test_an_earlier_failure_is_the_one_that_counts() -> None:
    def fill_and_fail(part: PartFile) -> None:
        part.write(b"still in the buffer")
        raise KeyError("of the user's own")

    with pytest.raises(KeyError), PartFile(FULL) as part:
        fill_and_fail(part)


def test_an_os_error_of_what_is_written_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="my own") as caught, PartFile(tmp_path / "part"):
        raise OSError(errno.ENOSPC, "my own")
    assert not isinstance(caught.value, UnwrittenError)
