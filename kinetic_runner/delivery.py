"""Writing a record where the client looks for it: completely or not at all."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from kinetic_runner.drivers import open_url, upload
from kinetic_runner.image import image_path
from kinetic_runner.log import Log
from kinetic_runner.retry import retried
from kinetic_runner.uris import base_name, local_path


class Destination:
    """Where one record goes. It is written to a part file first, and appears under its name at once."""

    def __init__(self, uri: str, scratch: Path) -> None:
        """Open the store, so that nothing has to be imported when the function has run.

        Args:
            uri: Of the record.
            scratch: For the part file of a remote one; a local one lies beside its place.

        Raises:
            ImportError: No driver for that kind of URI is installed.
        """
        self.uri = uri
        self._local = local_path(uri)
        self._remote: tuple[Any, str] | None = None if self._local else open_url(uri)
        self._scratch = scratch

    def clear(self, log: Log) -> None:
        """Remove the record of an earlier attempt, if there is one.

        Raises:
            Exception: The store refuses, or is down for good.
        """
        if self._local is not None:
            self._local.unlink(missing_ok=True)
            return
        assert self._remote is not None  # noqa: S101 - one of the two is set
        system, path = self._remote

        def remove() -> None:
            with suppress(FileNotFoundError):
                system.rm_file(path)

        with image_path():
            retried(f"removal of {self.uri}", remove, log=log)

    def part_file(self) -> Path:
        """Return a new name to write the record under, in a directory that exists.

        Raises:
            OSError: The directory cannot be made.
        """
        folder = self._local.parent if self._local else self._scratch
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f".{base_name(self.uri)}.{os.getpid()}-{os.urandom(4).hex()}.part"

    def publish(self, part: Path, log: Log) -> None:
        """Let the finished part file appear under the record's name, trying again what is transient.

        Raises:
            Exception: The store refuses, or is down for good.
        """
        # Drivers import some things only when they write.
        with image_path():
            retried(f"upload of {self.uri}", lambda: self._publish(part), log=log)

    def _publish(self, part: Path) -> None:
        if self._local is not None:
            part.replace(self._local)
            return
        assert self._remote is not None  # noqa: S101 - one of the two is set
        system, path = self._remote
        upload(system, part, path)
        part.unlink(missing_ok=True)
