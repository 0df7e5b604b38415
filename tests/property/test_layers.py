"""Whatever is done to a tree, base and layers put together are the archive, byte for byte."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.composition import Composition, Limits
from kinetic_core.packaging.layering import make_layer
from kinetic_core.packaging.snapshot import Snapshot
from kinetic_core.wire.names import CONTEXT_FILE
from kinetic_runner.composing import compose
from kinetic_runner.fetch import Fetched
from tests.property.test_packaging_edits import CONTENTS, NAMES, STEPS, Step, apply, let_time_pass, look, write


class Store:
    """A folder with a base and layers, some of which may vanish."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def fetched(self, name: str) -> Fetched:
        return Fetched(uri=f"file://{self.folder / name}", path=self.folder / name, sha256=None)

    @property
    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


@given(
    steps=st.lists(STEPS, min_size=2, max_size=9),
    repeated=st.sampled_from([0, 300, 1 << 20]),
    sources=st.sampled_from([2, 8]),
    vanishing=st.sets(st.integers(1, 8), max_size=2),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_base_and_layers_make_the_archive(steps: list[Step], repeated: int, sources: int, vanishing: set[int]) -> None:
    limits = Limits(saved=0, repeated=repeated, sources=sources)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root, kept, store = folder / "root", folder / "kept.zip", Store(folder / "store")
        root.mkdir()
        apply([write(name, content) for name, content in zip(NAMES, CONTENTS, strict=False)], root)
        snapshot: Snapshot | None = None
        composition: Composition | None = None
        for number, step in enumerate(steps):
            apply(step.edits, root)
            written = write_archive(
                look(root, settled=step.settled), step.plan, folder / "new.zip", earlier=snapshot, threads=step.threads
            )
            if not written.is_earlier:
                written.artifact.path.replace(kept)
            snapshot = Snapshot.from_bytes(written.snapshot.to_bytes(), lambda _: kept)
            assert snapshot is not None
            entries, sha256 = len(snapshot.listing), snapshot.sha256
            layer = None
            if composition is not None:
                composition = Composition.from_json(
                    composition.after(written.copied, sha256=sha256, entries=entries).to_json()
                )
                if number in vanishing and len(composition.sources) > 1:
                    (store.folder / composition.sources[-1].name).unlink()
                layer = make_layer(snapshot.artifact, composition, folder / "layer", present=store.names, limits=limits)
            event("whole" if layer is None else f"layered, {len(layer.composition.sources)} sources")
            if layer is None:
                for path in store.folder.iterdir():
                    path.unlink()
                (store.folder / CONTEXT_FILE).write_bytes(kept.read_bytes())
                composition = Composition.whole(sha256, size_bytes=snapshot.size_bytes, entries=entries)
            else:
                composition = layer.composition
                layer.artifact.path.replace(store.folder / composition.sources[-1].name)
                base, *layers = [store.fetched(source.name) for source in composition.sources]
                composed = compose(base, layers, folder / "composed.zip")
                assert composed.sha256 == sha256
                assert composed.path.read_bytes() == kept.read_bytes()
                assert len(composition.sources) <= sources + 1
            assert sum(part.entries for part in composition.parts) == entries
            if step.settled:
                let_time_pass(folder)
