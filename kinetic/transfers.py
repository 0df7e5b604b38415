"""Files on their way to a store or from it, shown to a person: a live bar at a terminal, one line otherwise.

Nothing is shown of what takes less than a second.
"""

import functools
import inspect
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from kinetic import terminal
from kinetic.log import tell, wants_warnings_only
from kinetic_core.plugin import BulkStorage, ReportingStorage, Storage

if TYPE_CHECKING:
    from rich.progress import TaskID

Direction = Literal["upload", "download"]

WORTH_SHOWING_S: Final = 1.0
_AT_ONCE: Final = 8
# The batch's transfer, where a thread fetches one of many results.
_outer: "ContextVar[Transfer | None]" = ContextVar("outer transfer", default=None)


class Transfer:
    """Some files that are moved together; threads may move several at once."""

    def __init__(self, direction: Direction, what: str, storage: Storage, size_bytes: int | None) -> None:
        """Use `transfer` rather than this."""
        self._direction: Direction = direction
        self._what = what
        self.storage = storage
        self._size_bytes = size_bytes
        self._reports = _reports(storage)
        self._files = 0
        self._moved = 0
        self._bar: _Bar | None = None
        self._has_ended = False
        self._lock = threading.Lock()

    def put_file(self, path: Path, key: str) -> None:
        """Store a file, as the store's own method does."""
        if self._reports:
            cast("ReportingStorage", self.storage).put_file(path, key, progress=self._move)
        else:
            self.storage.put_file(path, key)
            self._move(path.stat().st_size)
        self._count()

    def put_files(self, files: Mapping[str, Path]) -> None:
        """Store files by their keys, some at once: one after the other, small ones would wait most of the time.

        When this raises, none of them is under way any more.
        """
        left = files.keys() if len(files) == 1 else self._put_in_bulk(files)
        if len(left) == 1:
            (key,) = left
            self.put_file(files[key], key)
        elif left:
            self._put_side_by_side({key: files[key] for key in left})

    def get_file(self, key: str, path: Path) -> None:
        """Fetch a file, as the store's own method does."""
        if self._reports:
            cast("ReportingStorage", self.storage).get_file(key, path, progress=self._move)
        else:
            self.storage.get_file(key, path)
            self._move(path.stat().st_size)
        self._count()

    def adopt_thread(self) -> None:
        """Let each transfer that the calling thread begins count as a part of this one."""
        _outer.set(self)

    def draw(self) -> None:
        """Show a bar from now on, where there is a terminal for one."""
        console = terminal.open_console()
        with self._lock:
            if console is not None and not self._has_ended:
                self._bar = _Bar(console, f"{self._direction} of {self._what}", self._size_bytes)
                self._bar.show(self._moved)

    def end(self) -> bool:
        """Take the bar away; tell whether there was one."""
        with self._lock:
            self._has_ended = True
            if self._bar is not None:
                self._bar.stop()
            return self._bar is not None

    def log(self, took_s: float) -> None:
        """Tell of the whole in one line."""
        tell(
            "kinetic.transfers",
            f"{self._direction}_finished",
            what=self._what,
            files=self._files,
            size_bytes=self._moved,
            duration_s=round(took_s, 1),
        )

    def _put_in_bulk(self, files: Mapping[str, Path]) -> Collection[str]:
        """Store what the store takes in bulk; return the keys of the rest."""
        if not isinstance(self.storage, BulkStorage):
            return files.keys()
        left = self.storage.put_files(files, progress=self._move)
        self._count(len(files) - len(left))
        return left

    def _put_side_by_side(self, files: Mapping[str, Path]) -> None:
        from concurrent.futures import FIRST_EXCEPTION, wait

        from kinetic_core.model.threads import Threads

        with Threads(_AT_ONCE, thread_name_prefix="kinetic-put") as pool:
            puts = [pool.submit(self.put_file, path, key) for key, path in files.items()]
            try:
                for put in wait(puts, return_when=FIRST_EXCEPTION).done:
                    put.result()
            except BaseException:
                # What runs already is waited for: it must not write behind the back of who takes it away again.
                pool.shutdown(cancel_futures=True)
                raise

    def _move(self, size_bytes: int) -> None:
        with self._lock:
            self._moved += size_bytes
            if self._bar is not None:
                self._bar.show(self._moved)

    def _count(self, files: int = 1) -> None:
        with self._lock:
            self._files += files


@contextmanager
def transfer(
    direction: Direction,
    what: str,
    storage: Storage,
    *,
    size_bytes: int | None,
    after_s: float = WORTH_SHOWING_S,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Transfer]:
    """Show what is moved in the block once that takes more than a second; a failure is left to its exception.

    Args:
        direction: Which way.
        what: For a person, such as a file's name.
        storage: The store.
        size_bytes: Of all files; `None` where nobody knows.
        after_s: How long it has to take.
        clock: Seconds.
    """
    outer = _outer.get()
    if outer is not None and outer.storage.url == storage.url:
        yield outer
        return
    moving, started_s = Transfer(direction, what, storage, size_bytes), clock()
    timer = threading.Timer(after_s, moving.draw)
    timer.daemon = True
    if terminal.is_present() and not wants_warnings_only():
        # An interpreter that is shutting down starts no thread any more, and can do without a bar.
        with suppress(RuntimeError):
            timer.start()
    try:
        yield moving
    finally:
        timer.cancel()
        was_drawn = moving.end()
        # No thread of ours is left to a caller that forks.
        if timer.is_alive():
            timer.join()
    took_s = clock() - started_s
    if took_s >= after_s and not was_drawn:
        moving.log(took_s)


def _reports(storage: Storage) -> bool:
    return _takes_progress(type(storage).put_file) and _takes_progress(type(storage).get_file)


@functools.lru_cache(maxsize=32)
def _takes_progress(method: Callable[..., object]) -> bool:
    try:
        return "progress" in inspect.signature(method).parameters
    except (TypeError, ValueError):
        # Some callables, such as those of an extension module, do not say what they take.
        return False


class _Bar:
    """A live bar with bytes, rate and the time left."""

    def __init__(self, console: Any, what: str, size_bytes: int | None) -> None:
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._progress: Progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            redirect_stdout=terminal.draws_stdout_too(),
        )
        self._task: TaskID = self._progress.add_task(what, total=size_bytes)
        # A terminal that has gone harms no transfer.
        with suppress(OSError):
            self._progress.start()

    def show(self, moved_bytes: int) -> None:
        self._progress.update(self._task, completed=moved_bytes)

    def stop(self) -> None:
        with suppress(OSError):
            self._progress.stop()
