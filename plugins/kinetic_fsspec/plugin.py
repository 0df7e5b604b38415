"""Drivers of the stores. Importing this module loads neither fsspec nor a cloud library."""

import functools
import os
import threading
from collections.abc import Callable, Sequence

from kinetic_core.plugin import DriverContext, Storage, StorageDriver, hookimpl


@hookimpl
def kinetic_storage_drivers() -> Sequence[StorageDriver]:
    """Offer `file://`, `memory://`, the clouds' object stores, and what else fsspec can open."""
    return (
        StorageDriver(name="file", schemes=("file",), open=_open_file),
        StorageDriver(name="memory", schemes=("memory",), open=_open_memory, requires=("fsspec",), process_local=True),
        _cloud("gcs", ("gs", "gcs"), "gcsfs", _open_gcs),
        _cloud("s3", ("s3", "s3a"), "s3fs", _open_s3),
        _cloud("azure", ("abfs", "abfss", "az"), "adlfs", _open_azure),
        StorageDriver(name="fsspec", schemes=("*",), open=_open_any, requires=("fsspec",)),
    )


def _cloud(
    extra: str, schemes: tuple[str, ...], package: str, open_store: Callable[[str, DriverContext], Storage]
) -> StorageDriver:
    return StorageDriver(
        name=extra,
        schemes=schemes,
        open=open_store,
        requires=("fsspec", package),
        install_hint=f"pip install 'kinetic-run[{extra}]'",
    )


def _open_file(url: str, context: DriverContext) -> Storage:
    from kinetic_fsspec.file import FileStorage, root_of

    return FileStorage(root_of(url, context.home))


def _open_memory(url: str, context: DriverContext) -> Storage:
    from fsspec.implementations.memory import MemoryFileSystem

    from kinetic_fsspec.failures import Masked
    from kinetic_fsspec.generic import FsspecBucket
    from kinetic_fsspec.opening import remote

    system = MemoryFileSystem()
    root = system._strip_protocol(url)  # noqa: SLF001 - fsspec offers no public name for it
    return remote(url, FsspecBucket(system, root, _memory_lock(os.getpid()), atomic=True), context, None, Masked())


@functools.cache
def _memory_lock(_process: int) -> threading.RLock:
    """Return the lock of the one file system that `memory://` is in a process: two stores on it may be open at once.

    A fork has one of its own: who held its parent's is not there to let go of it.
    """
    return threading.RLock()


def _open_gcs(url: str, context: DriverContext) -> Storage:
    from kinetic_fsspec.opening import open_gcs

    return open_gcs(url, context)


def _open_s3(url: str, context: DriverContext) -> Storage:
    from kinetic_fsspec.opening import open_s3

    return open_s3(url, context)


def _open_azure(url: str, context: DriverContext) -> Storage:
    from kinetic_fsspec.opening import open_azure

    return open_azure(url, context)


def _open_any(url: str, context: DriverContext) -> Storage:
    from kinetic_fsspec.opening import open_any

    return open_any(url, context)
