"""The stores under contract: where each lies, and how it is opened."""

from pathlib import Path
from typing import Any, Final

from kinetic.testing.log import RecordingLog
from kinetic_core.plugin import DriverContext, Storage, StorageDriver
from kinetic_fsspec.plugin import kinetic_storage_drivers

HERE: Final = ("file", "memory")
CLOUDY: Final = ("gs", "s3", "abfs")


def driver(scheme: str) -> StorageDriver:
    (found,) = (driver for driver in kinetic_storage_drivers() if scheme in driver.schemes)
    return found


def open_store(url: str, home: Path, options: dict[str, Any] | None = None) -> Storage:
    scheme = url.partition("://")[0]
    context = DriverContext(
        log=RecordingLog(), environ={}, home=home, storage_options={} if options is None else {scheme: options}
    )
    return driver(scheme).open(url, context)
