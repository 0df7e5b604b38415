"""Drivers of the stores. Importing this module loads neither fsspec nor a cloud library."""

import threading
from collections.abc import Sequence
from typing import Final

from kinetic_core.plugin import DriverContext, Storage, StorageDriver, hookimpl

# One lock for the one file system that `memory://` is in a process: two stores on it may be open at once.
_MEMORY_LOCK: Final = threading.Lock()


@hookimpl
def kinetic_storage_drivers() -> Sequence[StorageDriver]:
    """Offer `file://`, `memory://` and, where their fsspec packages are installed, the object stores."""
    return (
        StorageDriver(name="file", schemes=("file",), open=_open_file),
        StorageDriver(name="memory", schemes=("memory",), open=_open_memory, requires=("fsspec",), process_local=True),
        _object_store("gcs", ("gs", "gcs"), "gcsfs"),
        _object_store("s3", ("s3", "s3a"), "s3fs"),
        _object_store("azure", ("abfs", "abfss", "az"), "adlfs"),
    )


def _object_store(extra: str, schemes: tuple[str, ...], package: str) -> StorageDriver:
    return StorageDriver(
        name=extra,
        schemes=schemes,
        open=_open_object_store,
        requires=("fsspec", package),
        install_hint=f"pip install 'kinetic-run[{extra}]'",
    )


def _open_file(url: str, context: DriverContext) -> Storage:
    from kinetic_fsspec.file import FileStorage, root_of

    return FileStorage(root_of(url, context.home))


def _open_memory(url: str, context: DriverContext) -> Storage:
    from fsspec.implementations.memory import MemoryFileSystem

    from kinetic_fsspec.remote import FsspecStorage

    return FsspecStorage(MemoryFileSystem(), url, _MEMORY_LOCK)


def _open_object_store(url: str, context: DriverContext) -> Storage:
    import fsspec

    from kinetic_fsspec.remote import FsspecStorage

    scheme = url.partition("://")[0]
    context.log.warning(
        "storage_unproven",
        url=url,
        remedy="use a file:// store; object stores work only as far as fsspec carries them, without retries",
    )
    # The listing cache hides what others write, and instances are shared with whoever else uses fsspec here.
    filesystem = fsspec.filesystem(scheme, use_listings_cache=False, skip_instance_cache=True)
    return FsspecStorage(filesystem, url, threading.Lock())
