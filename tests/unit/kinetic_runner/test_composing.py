"""A context in layers: put together, verified, and told of when it cannot be."""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic_core.model.package import Artifact
from kinetic_core.packaging.composition import Composition, Copied, Limits
from kinetic_core.packaging.layering import make_layer
from kinetic_core.wire.layer import RECIPE_PATH, Part, Source, read_recipe
from kinetic_core.wire.names import PLAN_PATH
from kinetic_core.wire.zipdirectory import Directory
from kinetic_runner.composing import compose
from kinetic_runner.fetch import Fetched
from kinetic_runner.runner import run
from tests.fakes.full_disk import full_disk
from tests.system.runner.artifacts import PLAN, Bench
from tests.unit.kinetic_core.wire.archives import mapped
from tests.unit.kinetic_runner.box import entry
from tests.unit.kinetic_runner.inprocess import record_of
from tests.unit.kinetic_runner.journal import Journal

LIMITS = Limits(saved=0)
SOURCE = "def f():\n    import helper\n    return helper.value\n"


@attrs.define
class Layered:
    """A job whose context lies in the store as a base and a layer."""

    bench: Bench
    base: Path
    layer: Path
    arguments: list[str]

    def run(self, journal: Journal) -> int:
        return run(self.arguments, environ=os.environ, log=journal)

    def change(self, path: Path, change: Callable[[bytearray], object]) -> None:
        data = bytearray(path.read_bytes())
        change(data)
        path.write_bytes(bytes(data))

    def failure(self, journal: Journal) -> str:
        assert self.run(journal) == 1
        record = record_of(self.bench)
        return f"{record['phase']}: {record['exception']}"


def context(files: Mapping[str, str]) -> bytes:
    """Make an archive that depends on nothing but its files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, PLAN_PATH: json.dumps(PLAN)}.items():
            archive.writestr(entry(name), content)
    return stream.getvalue()


@pytest.fixture
def layered(bench: Bench, own_process: None) -> Layered:
    """The base has another `helper.py`, the archive an `added.py` more."""
    bench.define(SOURCE)
    arguments = bench.write()
    common = {"train.py": SOURCE, "data.txt": "word " * 4000}
    first = context({**common, "helper.py": "value = 1\n"})
    base = bench.folder / "store" / hashlib.sha256(first).hexdigest() / "context.zip"
    base.parent.mkdir(parents=True)
    base.write_bytes(first)
    archive = bench.folder / "context.zip"
    archive.write_bytes(context({**common, "helper.py": "value = 2\n", "added.py": ""}))
    size_bytes, sha256 = archive.stat().st_size, hashlib.sha256(archive.read_bytes()).hexdigest()
    composition = Composition.whole(base.parent.name, size_bytes=len(first), entries=3)
    composition = composition.after([Copied(0, 2, 0)], sha256=sha256, entries=4)
    artifact = Artifact(path=archive, size_bytes=size_bytes, sha256=sha256)
    made = make_layer(artifact, composition, bench.folder / "layer", present={"context.zip"}, limits=LIMITS)
    assert made is not None
    layer = base.parent / made.composition.sources[-1].name
    made.artifact.path.replace(layer)
    archive.unlink()
    arguments[1], arguments[3] = base.as_uri(), sha256
    return Layered(bench, base, layer, [*arguments, "--context-layer", layer.as_uri()])


def test_a_job_finds_the_project_that_base_and_layer_make(layered: Layered, journal: Journal) -> None:
    assert layered.run(journal) == 0
    assert record_of(layered.bench)["result"] == 2


def test_without_a_hash_the_layers_are_trusted(layered: Layered, journal: Journal) -> None:
    at = layered.arguments.index("--context-sha256")
    del layered.arguments[at : at + 2]
    layered.arguments[-2:] = [f"{layered.arguments[-2]}={layered.arguments[-1]}"]
    assert layered.run(journal) == 0


def test_layers_come_from_a_remote_store_too(layered: Layered, journal: Journal, memory: Any) -> None:
    folder = layered.base.parent
    for path in (layered.base, layered.layer):
        memory.pipe_file(f"/{folder.name}/{path.name}", path.read_bytes())
    layered.arguments = [word.replace(folder.as_uri(), f"memory://{folder.name}") for word in layered.arguments]
    assert layered.run(journal) == 0
    assert record_of(layered.bench)["result"] == 2


@pytest.mark.parametrize("which", ["base", "layer"])
def test_what_vanished_is_named_with_what_to_do(layered: Layered, which: str, journal: Journal) -> None:
    path: Path = getattr(layered, which)
    path.unlink()
    said = layered.failure(journal)
    assert said.startswith(f"artifact download: the context {path.as_uri()} is not in the store (any more)")
    assert "Submit the call again" in said


@pytest.mark.parametrize(("which", "at"), [("base", 45), ("layer", 40)])
def test_an_entry_that_is_damaged_is_found_and_its_object_named(
    layered: Layered, which: str, at: int, journal: Journal
) -> None:
    path: Path = getattr(layered, which)
    layered.change(path, lambda data: data.__setitem__(at, data[at] ^ 1))
    said = layered.failure(journal)
    assert said.startswith(f"artifact verification: the context of {layered.base.as_uri()} and its layers is not what")
    assert said.endswith(f"damaged in the store: {path.as_uri()}")


def test_layers_of_another_context_are_not_what_the_client_sent(layered: Layered, journal: Journal) -> None:
    at = layered.arguments.index("--context-sha256") + 1
    layered.arguments[at] = "0" * 64
    assert layered.failure(journal).endswith("all objects in the store are whole")


@pytest.mark.parametrize("which", ["base", "layer"])
@pytest.mark.parametrize(("keep", "said"), [(0, "it is empty"), (200, "not a ZIP archive, or cut off")])
def test_what_was_cut_off_is_named(layered: Layered, which: str, keep: int, said: str, journal: Journal) -> None:
    path: Path = getattr(layered, which)
    path.write_bytes(path.read_bytes()[:keep])
    assert layered.failure(journal) == f"artifact verification: {path.as_uri()} is damaged: {said}"


def test_a_full_disk_is_told_with_the_file(layered: Layered, tmp_path: Path) -> None:
    fetched = [Fetched(uri=path.as_uri(), path=path, sha256=None) for path in (layered.base, layered.layer)]
    with full_disk(100), pytest.raises(OSError, match="File too large") as caught:
        compose(fetched[0], fetched[1:], tmp_path / "context.zip")
    assert caught.value.filename == str(tmp_path / "context.zip")


def test_an_archive_without_a_recipe_is_no_layer(layered: Layered, journal: Journal) -> None:
    layered.layer.write_bytes(layered.base.read_bytes())
    said = layered.failure(journal)
    assert said.endswith(f"{layered.layer.as_uri()} is damaged: it is no layer: it does not end with a recipe")


def test_a_job_that_names_other_layers_than_the_recipe_is_refused(layered: Layered, journal: Journal) -> None:
    layered.arguments += layered.arguments[-2:]
    said = layered.failure(journal)
    assert f"is made of context.zip, but the job names context.zip, {layered.layer.name}" in said


def recipe_with(layered: Layered, **changes: Any) -> list[Fetched]:
    """Return base and layer, the recipe of which says something else."""
    recipe = read_recipe(Directory(mapped(layered.layer.read_bytes())))
    changed = recipe._replace(**changes)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(RECIPE_PATH, changed.to_bytes())
    layered.layer.write_bytes(stream.getvalue())
    return [Fetched(uri=path.as_uri(), path=path, sha256=None) for path in (layered.base, layered.layer)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parts": (Part(2, 0, 1),)}, "asks for source 2 of 2"),
        ({"parts": (Part(-1, 0, 1),)}, "asks for source -1 of 2"),
        ({"parts": (Part(0, 2, 9),)}, "entries 2 to 11 are asked of an archive that has 4"),
        ({"size_bytes": 10}, "makes more than it says"),
        ({"sources": (Source("other", "", 0),)}, "is made of other"),
    ],
)
def test_a_recipe_that_asks_for_what_is_not_there_is_refused(
    layered: Layered, changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    base, layer = recipe_with(layered, **changes)
    with pytest.raises(ValueError, match=said):
        compose(base, [layer], tmp_path / "made")
