"""Data from the client's disk through the store's cache to the function, by the real runner."""

import os
import stat
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic.references import DataHandler
from kinetic.testing.jobs import make_job, result_of
from kinetic.testing.log import RecordingLog
from kinetic_core.model.job import JobStatus
from kinetic_core.plugin import DriverContext
from kinetic_core.references.data import Data
from kinetic_fsspec.file import FileStorage
from kinetic_local.backend import LocalBackend


@attrs.frozen
class Delivery:
    """Runs a function on data."""

    folder: Path
    context: DriverContext

    def run(self, function: Any, data: Data, *, mount_path: str | None = None) -> Any:
        """Return what the function made of the path that it got, or of the volume at the mount path."""
        store = FileStorage(self.folder / "store")
        handler = DataHandler(self.context)
        handler.stage(data, store)
        reference = handler.reference(data, store_url=store.url).to_dict()
        reference |= {"id": "r1", "mount_path": mount_path}
        keys = {"volumes": [reference]} if mount_path else {"has_data_refs": True, "data_ref_ids": ["r1"]}
        argument = mount_path or reference
        spec = make_job(self.folder / "store", function, argument, payload_keys=keys)
        backend = LocalBackend(self.context)
        ref = backend.submit(spec)
        list(backend.events(ref, timeout_s=60))
        assert backend.status(ref).status is JobStatus.SUCCEEDED, "".join(backend.logs(ref))
        return result_of(spec)["result"]


@pytest.fixture
def delivery(tmp_path: Path, private_temp: Path) -> Delivery:
    environ = {"PATH": os.environ["PATH"], "TMPDIR": str(private_temp)}
    return Delivery(tmp_path, DriverContext(log=RecordingLog(), environ=environ, home=tmp_path / "home"))


def tree(path: str) -> list[str]:
    """Describe what is below a path; nested by its users, so that it travels."""
    return sorted(str(found.relative_to(path)) for found in Path(path).rglob("*"))


def test_a_file_arrives_under_its_name(delivery: Delivery, tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\0\1")
    found = delivery.run(lambda path: (Path(path).name, Path(path).read_bytes()), Data(tmp_path / "weights.bin"))
    assert found == ("weights.bin", b"\0\1")


def test_a_directory_arrives_with_its_empty_directories(delivery: Delivery, tmp_path: Path) -> None:
    (tmp_path / "data/empty/deep").mkdir(parents=True)
    (tmp_path / "data/file").write_text("1")
    found = delivery.run(
        lambda path: sorted(str(found.relative_to(path)) for found in Path(path).rglob("*")), Data(tmp_path / "data")
    )
    assert found == tree(str(tmp_path / "data")) == ["empty", "empty/deep", "file"]


@pytest.mark.parametrize("inside", ["", "only/empty"])
def test_a_directory_without_a_single_file_arrives(delivery: Delivery, tmp_path: Path, inside: str) -> None:
    (tmp_path / "data" / inside).mkdir(parents=True)
    found = delivery.run(
        lambda path: sorted(str(found.relative_to(path)) for found in Path(path).rglob("*")), Data(tmp_path / "data")
    )
    assert found == tree(str(tmp_path / "data"))


def test_a_volume_appears_below_the_mount_root(delivery: Delivery, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/file").write_text("1")
    found = delivery.run(
        lambda path: Path(os.environ["KINETIC_MOUNT_ROOT"] + path, "file").read_text(),
        Data(tmp_path / "data"),
        mount_path="/data/train",
    )
    assert found == "1"
    assert not Path("/data/train").exists()


@pytest.mark.parametrize("name", ["data", "data/file"])
def test_a_volume_to_be_mounted_is_a_read_only_copy(delivery: Delivery, tmp_path: Path, name: str) -> None:
    (tmp_path / "data/sub").mkdir(parents=True)
    (tmp_path / "data/file").write_text("1")

    def modes(path: str) -> list[int]:
        top = Path(os.environ["KINETIC_MOUNT_ROOT"] + path)
        return [found.stat().st_mode for found in (top, *top.rglob("*"))]

    found = delivery.run(modes, Data(tmp_path / name, fuse=True), mount_path="/data/train")
    assert found
    assert [mode for mode in found if stat.S_IMODE(mode) & 0o222] == []
    assert list((tmp_path / "temp").iterdir()) == []
