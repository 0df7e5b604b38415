"""A part file whose own failures cannot be taken for failures of what is written into it."""

from pathlib import Path
from types import TracebackType
from typing import Self


class UnwrittenError(Exception):
    """The file could not be written: no room, no right, no disk. Never leaves the runner."""

    def __init__(self, error: OSError, path: Path) -> None:
        """Keep the system's error and the file."""
        super().__init__(str(error))
        self._error = error
        self._path = path

    def as_os_error(self) -> OSError:
        """Return the system's error with the file's name in it."""
        return OSError(self._error.errno, self._error.strerror, str(self._path))


class PartFile:
    """A new file to write bytes to; pickling into it runs the user's code, which may raise an `OSError` of its own.

    Raises:
        UnwrittenError: On opening, writing or closing.
    """

    def __init__(self, path: Path) -> None:
        """Open the file."""
        self._path = path
        try:
            self._stream = path.open("wb")
        except OSError as error:
            raise UnwrittenError(error, path) from error

    def write(self, data: bytes) -> int:
        """Write all of the data."""
        try:
            return self._stream.write(data)
        except OSError as error:
            raise UnwrittenError(error, self._path) from error

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Close the file; what is still to be written is, and an earlier failure is the one that counts."""
        try:
            self._stream.close()
        except OSError as error:
            if kind is None:
                raise UnwrittenError(error, self._path) from error
