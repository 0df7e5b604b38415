"""Who needs which context: what this client's jobs use of a store, so that nothing of it is cleaned away.

All of a client's contexts in a store are its own, so its own list is enough; nobody has to be asked. A submission
holds the list's lock together with others from the look into the store to the note; who cleans holds it alone.
Neither ever waits for the other.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from kinetic.privacy import cache_folder, make_private, read_kept
from kinetic_core.plugin import Storage

_LOCK: Final = "lock"
_USES: Final = "uses"
_CLEANED: Final = "cleaned"
# Without O_NONBLOCK, opening a FIFO in its place would hang.
_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC


@attrs.frozen(kw_only=True)
class Use:
    """One job's need."""

    job_folder: str
    """Key of the job's folder."""
    keys: tuple[str, ...]
    """What it fetches of its context."""
    at: float
    """When it was submitted, in seconds since the epoch."""
    result: str
    """Key of its result."""

    def to_line(self) -> bytes:
        """Return one line of JSON."""
        return json.dumps(attrs.asdict(self), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "Use | None":
        """Read what `to_line` wrote, and nothing of what is damaged."""
        try:
            raw: Any = json.loads(line)
            return cls(job_folder=raw["job_folder"], keys=tuple(raw["keys"]), at=float(raw["at"]), result=raw["result"])
        except (ValueError, TypeError, KeyError):
            return None


@attrs.frozen(eq=False, repr=False)
class Uses:
    """The list of one client's uses of one store, in a private folder."""

    folder: Path

    @classmethod
    def of_store(cls, storage: Storage, client: str) -> "Uses":
        """Return this user's list for a store.

        Args:
            storage: The store.
            client: The client's folder in it.
        """
        return cls(cache_folder() / "stores" / store_key(storage, client))

    def together(self) -> contextlib.AbstractContextManager[bool]:
        """Keep cleaning away; tell whether that worked."""
        return self._locked(fcntl.LOCK_SH)

    def alone(self) -> contextlib.AbstractContextManager[bool]:
        """Keep everybody away; tell whether that worked."""
        return self._locked(fcntl.LOCK_EX)

    def add(self, use: Use) -> None:
        """Note a use.

        Raises:
            OSError: It cannot be noted.
        """
        descriptor = os.open(self.folder / _USES, _APPEND, 0o600)
        try:
            line = use.to_line()
            # On a line of its own, even where the one before was cut off by a full disk.
            if os.write(descriptor, b"\n" + line) <= len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)

    def read(self) -> list[Use]:
        """Return all that were noted.

        Raises:
            OSError: The list cannot be read.
        """
        try:
            lines = read_kept(self.folder / _USES).splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [use for line in lines if (use := Use.from_line(line)) is not None]

    def replace(self, uses: Sequence[Use]) -> None:
        """Note these instead.

        Raises:
            OSError: It cannot be written; the list is as it was.
        """
        fresh = self.folder / f"{_USES}.new"
        fresh.touch(mode=0o600)
        fresh.write_bytes(b"".join(use.to_line() for use in uses))
        fresh.replace(self.folder / _USES)

    def claim_cleaning(self, *, every_s: float) -> bool:
        """Tell whether it is time to clean, and whoever asks within the next seconds that it is not."""
        mark = self.folder / _CLEANED
        with contextlib.suppress(OSError):
            # A mark from the future, as a clock that was put right leaves it, would keep everybody off until then.
            if abs(time.time() - mark.stat().st_mtime) < every_s:
                return False
        try:
            mark.touch(mode=0o600)
        except OSError:
            return False
        return True

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[bool]:
        try:
            make_private(self.folder)
            descriptor = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            yield False
            return
        try:
            try:
                fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            except OSError:
                yield False
            else:
                try:
                    yield True
                finally:
                    # Closing would not do: a fork made meanwhile holds it open, and the lock with it.
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)


def store_key(storage: Storage, client: str) -> str:
    """Return a name for one client's part of a store."""
    return hashlib.sha256(f"{storage.url}\0{client}".encode(errors="surrogateescape")).hexdigest()[:32]
