"""Extracting the context: every file where it belongs, nothing anywhere else."""

import gc
import os
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

from kinetic_runner.beside import beside
from kinetic_runner.entries import Plot, check_size, halves, plot
from kinetic_runner.inflate import unpacker
from kinetic_runner.log import Log
from kinetic_runner.ziplist import ZipEntry, data_range, list_archive

_CHUNK_BYTES: Final = 1 << 20
# Deflate packs at most 1032 to 1: so much, unpacked, fits into memory whatever the entry claims.
_AT_ONCE_BYTES: Final = 1 << 16
_PERMISSIONS: Final = 0o777
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def extract(archive: Path, workspace: Path, *, environ: Mapping[str, str], log: Log) -> int:
    """Extract the context archive into the workspace.

    Everything is decided before anything is written: one bad name, and nothing is there.

    Args:
        archive: The verified context.
        workspace: Made when absent; what already lies in it is never replaced.
        environ: The pod's environment, for the size limit.
        log: Told of links that were left out.

    Returns:
        How many files were written.

    Raises:
        ValueError: The archive is damaged, unsafe, or lies about a size.
        OSError: The disk is full, or something is in the way.
    """
    with archive.open("rb") as stream:
        if not os.fstat(stream.fileno()).st_size:
            raise ValueError("not a ZIP archive, or cut off")
        with mmap(stream.fileno(), 0, access=ACCESS_READ) as data, _no_collection():
            entries = list_archive(data)
            warning = check_size(entries, len(data), environ)
            if warning:
                log.caution(warning)
            plotted = plot(entries)
            for name in plotted.links:
                log.caution(f"entry {name!r} of the context is a link or a device and is left out")
            workspace.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _exact_modes() as umask:
                _Extraction(data, workspace, umask).write(plotted)
    return len(plotted.files)


@contextmanager
def _exact_modes() -> Iterator[int]:
    """Let files be made with the very mode that is asked for: one call a file less than setting it afterwards."""
    umask = os.umask(0)
    try:
        yield umask
    finally:
        os.umask(umask)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the collector out of lists that only grow: it would look through them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Extraction:
    def __init__(self, data: mmap, workspace: Path, umask: int) -> None:
        self._data = data
        self._zlib = unpacker(len(data))
        self._errors = (zlib.error, self._zlib.error)
        self._workspace = workspace
        self._umask = umask
        self._times: dict[tuple[int, int], int | None] = {}

    def write(self, plotted: Plot) -> None:
        self._make_directories(plotted.directories)
        mine, theirs = halves(plotted.files)
        with beside(partial(self._write_files, theirs)) if theirs else nullcontext():
            self._write_files(mine)
        # Last and inner ones first: a directory that denies writing must be full by then, and its time stays.
        for path, own in reversed(plotted.directories.items()):
            if own is not None:
                self._finish_directory(path, own)

    def _write_files(self, files: Sequence[tuple[str, ZipEntry]]) -> None:
        opened, directory, path = "", self._open(""), ""
        try:
            for path, entry in files:
                parent, _, name = path.rpartition("/")
                if parent != opened:
                    entered = self._open(parent)
                    os.close(directory)
                    opened, directory = parent, entered
                self._write_file(directory, name, entry)
        except OSError as error:
            # Of an open file the system names none, and of one in an open directory its last name.
            if error.filename is None or not os.path.isabs(error.filename):
                error.filename = str(self._workspace / path)
            raise
        finally:
            os.close(directory)

    def _open(self, path: str) -> int:
        return os.open(self._workspace / path, _DIRECTORY)

    def _make_directories(self, directories: Mapping[str, ZipEntry | None]) -> None:
        for path in directories:
            if not path:
                continue
            target = self._workspace / path
            try:
                target.mkdir(_PERMISSIONS & ~self._umask)
            except FileExistsError:
                if target.is_symlink() or not target.is_dir():
                    raise

    def _write_file(self, directory: int, name: str, entry: ZipEntry) -> None:
        mode = (entry.unix_mode or 0) & _PERMISSIONS or 0o666 & ~self._umask
        start, end = data_range(self._data, entry)
        file = os.open(name, _NEW_FILE, mode, dir_fd=directory)
        try:
            if entry.method == 0:
                self._store(file, start, end, entry)
            elif entry.packed_bytes <= _AT_ONCE_BYTES:
                self._inflate_at_once(file, start, end, entry)
            else:
                self._inflate(file, start, end, entry)
            mtime_ns = self._mtime_ns(entry)
            if mtime_ns is not None:
                os.utime(file, ns=(mtime_ns, mtime_ns))
        finally:
            os.close(file)

    def _inflate_at_once(self, file: int, start: int, end: int, entry: ZipEntry) -> None:
        size = entry.size_bytes
        try:
            content = self._zlib.decompress(self._data[start:end], -zlib.MAX_WBITS, min(size, _CHUNK_BYTES) + 1)
        except self._errors as error:
            raise _damaged(entry) from error
        if len(content) != size:
            raise _wrong_size(entry)
        if self._zlib.crc32(content) != entry.crc:
            raise _damaged(entry)
        _write(file, content)

    def _inflate(self, file: int, start: int, end: int, entry: ZipEntry) -> None:
        packed = self._zlib.decompressobj(-zlib.MAX_WBITS)
        crc = written = 0
        rest = b""
        while not packed.eof:
            if not rest:
                rest, start = self._data[start : min(end, start + _CHUNK_BYTES)], start + _CHUNK_BYTES
            try:
                content = packed.decompress(rest, _CHUNK_BYTES)
            except self._errors as error:
                raise _damaged(entry) from error
            # With nothing left to read there may still be something to come out.
            if not rest and not content:
                break
            rest = packed.unconsumed_tail
            written += len(content)
            if written > entry.size_bytes:
                raise _wrong_size(entry)
            crc = self._zlib.crc32(content, crc)
            _write(file, content)
        if written != entry.size_bytes or not packed.eof:
            raise _wrong_size(entry)
        if crc != entry.crc:
            raise _damaged(entry)

    def _store(self, file: int, start: int, end: int, entry: ZipEntry) -> None:
        crc = 0
        for at in range(start, end, _CHUNK_BYTES):
            content = self._data[at : min(end, at + _CHUNK_BYTES)]
            crc = self._zlib.crc32(content, crc)
            _write(file, content)
        if crc != entry.crc:
            raise _damaged(entry)

    def _finish_directory(self, path: str, entry: ZipEntry) -> None:
        directory = self._open(path)
        try:
            mode = (entry.unix_mode or 0) & _PERMISSIONS
            if mode and path:
                os.fchmod(directory, mode)
            mtime_ns = self._mtime_ns(entry)
            if mtime_ns is not None:
                os.utime(directory, ns=(mtime_ns, mtime_ns))
        finally:
            os.close(directory)

    def _mtime_ns(self, entry: ZipEntry) -> int | None:
        if entry.unix_mtime_s is not None:
            return entry.unix_mtime_s * 1_000_000_000
        if entry.dos_time not in self._times:
            self._times[entry.dos_time] = _local_ns(*entry.dos_time)
        return self._times[entry.dos_time]


def _local_ns(date: int, clock: int) -> int | None:
    """Turn an archive's local date and time into nanoseconds since the epoch; nonsense into nothing."""
    day = ((date >> 9) + 1980, date >> 5 & 15, date & 31)
    moment = (clock >> 11, clock >> 5 & 63, clock % 32 * 2)
    if not (1 <= day[1] <= 12 and day[2]):  # noqa: PLR2004 - months
        return None
    return int(time.mktime((*day, *moment, 0, 0, -1))) * 1_000_000_000


def _write(file: int, content: bytes) -> None:
    written = os.write(file, content)
    while written < len(content):
        written += os.write(file, memoryview(content)[written:])


def _wrong_size(entry: ZipEntry) -> ValueError:
    return ValueError(f"entry {entry.name!r} does not have the {entry.size_bytes} bytes that it declares")


def _damaged(entry: ZipEntry) -> ValueError:
    return ValueError(f"entry {entry.name!r} is damaged")
