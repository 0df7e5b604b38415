"""Data of the cache, compared with the hash that it lies under; whatever it is, and whichever kind of store."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from kinetic.references import DataHandler
from kinetic.testing.log import RecordingLog
from kinetic_core.plugin import DriverContext
from kinetic_core.references.data import Data
from kinetic_fsspec.file import FileStorage
from kinetic_runner.resolve import DataPlaces, Resolver
from tests.unit.kinetic_runner.journal import Journal

pytestmark = pytest.mark.usefixtures("own_process")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for name in ("b.txt", "a/ü", "a-b", "only/empty", "a/empty"):
        (tree / name).mkdir(parents=True) if "empty" in name else (tree / name).parent.mkdir(
            parents=True, exist_ok=True
        )
        if "empty" not in name:
            (tree / name).write_text(name)
    return tree


@pytest.fixture(params=["file", "memory"])
def stored(request: pytest.FixtureRequest, tree: Path, tmp_path: Path, memory: Any) -> Any:
    """Stage data, and return its reference, where the pod looks for it, and the folder of its copy."""
    store = FileStorage(tmp_path / "store")

    def stage(path: Path, **more: Any) -> tuple[dict[str, Any], str]:
        handler = DataHandler(DriverContext(log=RecordingLog(), environ={}, home=tmp_path))
        data = Data(path)
        handler.stage(data, store)
        url = store.url if request.param == "file" else "memory://store"
        if request.param == "memory":
            memory.put(f"{tmp_path}/store/cache", "/store/", recursive=True)
        return handler.reference(data, store_url=url).to_dict() | {"id": "r"} | more, f"cache/{data.content_hash()}"

    def damage(name: str) -> None:
        if request.param == "memory":
            memory.pipe_file(f"/store/{name}", b"other")
        else:
            (tmp_path / "store" / name).write_bytes(b"other")

    return stage, damage


@pytest.fixture
def resolver(tmp_path: Path, journal: Journal) -> Resolver:
    return Resolver(DataPlaces(directory=tmp_path / "data", mount_root=str(tmp_path / "mounts")), None, journal)


@pytest.mark.parametrize("name", ["", "b.txt", "a/ü", "only", "only/empty", "a"])
@pytest.mark.parametrize("mount", [None, "/somewhere/else"])
def test_what_is_whole_passes(stored: Any, resolver: Resolver, tree: Path, name: str, mount: str | None) -> None:
    stage, _ = stored
    reference, _ = stage(tree / name, mount_path=mount)
    assert reference["content_sha256"]
    if mount is None:
        resolver.resolve([reference], {})
    else:
        resolver.mount([reference])


@pytest.mark.parametrize(("name", "damaged"), [("", "a/ü"), ("b.txt", "b.txt")])
def test_what_is_damaged_is_told_by_its_name_with_the_way_to_mend_it(
    stored: Any, resolver: Resolver, tree: Path, name: str, damaged: str
) -> None:
    stage, damage = stored
    reference, folder = stage(tree / name)
    damage(f"{folder}/{damaged}")
    with pytest.raises(ValueError, match=r"is damaged in the store: .* Ask the client .* submit again") as told:
        resolver.resolve([reference], {})
    assert str(told.value).startswith(reference["uri"])


def test_what_is_there_too_much_is_damage(stored: Any, resolver: Resolver, tree: Path) -> None:
    stage, damage = stored
    reference, folder = stage(tree)
    damage(f"{folder}/more")
    with pytest.raises(ValueError, match="is damaged"):
        resolver.resolve([reference], {})


@pytest.mark.parametrize("name", ["", "b.txt"])
def test_what_has_vanished_is_told_with_the_way_to_mend_it(
    stored: Any, resolver: Resolver, tree: Path, name: str, tmp_path: Path, memory: Any
) -> None:
    stage, _ = stored
    reference, folder = stage(tree / name)
    reference["empty_dirs"] = []
    shutil.rmtree(tmp_path / "store" / folder)
    memory.rm("/store", recursive=True) if memory.exists("/store") else None
    with pytest.raises(FileNotFoundError, match=r"is not in the store \(any more\).* Submit the call again") as told:
        resolver.resolve([reference], {})
    assert reference["uri"] in str(told.value)
    del reference["content_sha256"]
    with pytest.raises(FileNotFoundError) as told:
        resolver.resolve([reference], {})
    assert "Submit" not in str(told.value)


def test_data_that_nobody_knows_the_hash_of_is_taken_as_it_is(stored: Any, resolver: Resolver, tree: Path) -> None:
    stage, damage = stored
    reference, folder = stage(tree)
    damage(f"{folder}/b.txt")
    del reference["content_sha256"]
    delivered = Path(resolver.resolve([reference], {}).args[0])
    assert (delivered / "b.txt").read_bytes() != (tree / "b.txt").read_bytes()
