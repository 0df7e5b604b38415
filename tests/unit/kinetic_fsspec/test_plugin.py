import subprocess
import sys
from pathlib import Path

import pytest

from kinetic.testing.log import RecordingLog
from kinetic_core.plugin import DriverContext, StorageDriver
from kinetic_fsspec.file import FileStorage
from kinetic_fsspec.plugin import kinetic_storage_drivers


def driver(scheme: str) -> StorageDriver:
    (found,) = (driver for driver in kinetic_storage_drivers() if scheme in driver.schemes)
    return found


def context(tmp_path: Path) -> DriverContext:
    return DriverContext(log=RecordingLog(), environ={}, home=tmp_path)


def test_listing_the_drivers_imports_no_file_system() -> None:
    program = (
        "import sys; from kinetic_fsspec.plugin import kinetic_storage_drivers as drivers; drivers();"
        "print(sorted({'fsspec', 'gcsfs', 's3fs', 'adlfs', 'kinetic_fsspec.file'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_using_a_file_store_imports_no_fsspec(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from kinetic_fsspec.file import FileStorage;"
        f"store = FileStorage(Path({str(tmp_path)!r})); store.put_bytes(b'1', 'key'); list(store.list());"
        "print('fsspec' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout == "False\n"
    )


@pytest.mark.parametrize(
    ("scheme", "package", "extra"), [("gs", "gcsfs", "gcs"), ("s3", "s3fs", "s3"), ("abfs", "adlfs", "azure")]
)
def test_an_object_store_names_what_it_requires_and_how_to_install_it(scheme: str, package: str, extra: str) -> None:
    assert package in driver(scheme).requires
    assert driver(scheme).install_hint == f"pip install 'kinetic-run[{extra}]'"


def test_a_file_store_requires_nothing_and_is_seen_by_pods(tmp_path: Path) -> None:
    assert driver("file").requires == ()
    assert not driver("file").process_local


def test_a_store_in_memory_is_seen_by_its_process_only() -> None:
    assert driver("memory").process_local


def test_the_home_of_a_store_is_the_contexts(tmp_path: Path) -> None:
    store = driver("file").open("file://~/store", context(tmp_path))
    assert isinstance(store, FileStorage)
    assert store.url == f"file://{tmp_path}/store"


@pytest.mark.parametrize("url", ["memory://one", "file://~/one"])
def test_every_driver_gives_a_store_without_trailing_slash(url: str, tmp_path: Path) -> None:
    scheme = url.partition("://")[0]
    assert not driver(scheme).open(f"{url}/", context(tmp_path)).url.endswith("/")
