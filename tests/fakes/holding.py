"""What the code under test holds, whatever other threads of the tests' process start, end, open and close meanwhile."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import attrs
import pytest

DESCRIPTORS: Final = Path("/proc/self/fd")


@attrs.define
class OwnThreads:
    """The threads that a test has started, itself or through one of them."""

    _started: list[threading.Thread] = attrs.field(factory=list)

    @property
    def living(self) -> list[threading.Thread]:
        """Those that have not ended."""
        return [thread for thread in self._started if thread.is_alive()]

    @property
    def alive(self) -> list[str]:
        """The names of those that have not ended."""
        return [thread.name for thread in self.living]


@contextmanager
def own_threads() -> Iterator[OwnThreads]:
    """Take note of the threads that are started within by the present thread, or by one of those."""
    caller, started = threading.current_thread(), list[threading.Thread]()
    start = threading.Thread.start

    def noting(thread: threading.Thread) -> None:
        if threading.current_thread() in (caller, *started):
            started.append(thread)
        start(thread)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", noting)
        yield OwnThreads(started)


def opened_below(folder: Path) -> list[str]:
    """Return the files and directories below a folder, or the folder itself, that this process has open."""
    if not DESCRIPTORS.exists():
        pytest.skip("this system does not list open descriptors")
    found = []
    for descriptor in DESCRIPTORS.iterdir():
        # Another thread may have closed it since.
        with suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()))
    return [path for path in found if f"{path}/".startswith(f"{folder.resolve()}/")]
