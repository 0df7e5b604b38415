"""When a layer is worth it, what goes into it, and what it refers to."""

import os
from pathlib import Path

import attrs
import pytest

from kinetic_core.model.trust import RACY_NS
from kinetic_core.packaging.archive import Written, write_archive
from kinetic_core.packaging.composition import Composition, Limits
from kinetic_core.packaging.layering import Layer, make_layer
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.packaging.scan import scan
from kinetic_core.packaging.snapshot import Snapshot
from kinetic_core.wire.plan import Plan

KIB = 1 << 10
TIGHT = Limits(saved=0, repeated=0)


@attrs.define
class Tree:
    """A project, the archive of its last state, and of what that is made."""

    folder: Path
    written: Written | None = None
    composition: Composition | None = None
    present: set[str] = attrs.field(factory=lambda: {"context.zip"})

    def write(self, **files: int) -> None:
        """Write files of so many random bytes, as `name` or `folder__name`."""
        for name, size in files.items():
            path = self.folder / "root" / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(size))

    def layer(self, limits: Limits = TIGHT) -> Layer | None:
        """Archive, and make the layer; the first archive is the base."""
        found = scan(self.folder / "root", RuleSet.compile(()))
        found = attrs.evolve(found, started_ns=found.started_ns + 2 * RACY_NS)
        earlier = self.written.snapshot if self.written else None
        written = write_archive(found, Plan(package_root="/p"), self.folder / "new.zip", earlier=earlier)
        artifact, snapshot = written.artifact, written.snapshot
        if self.composition is None:
            composition = Composition.whole(
                artifact.sha256, size_bytes=artifact.size_bytes, entries=snapshot.entry_count
            )
        else:
            composition = self.composition.after(written.copied, sha256=artifact.sha256, entries=snapshot.entry_count)
        made = make_layer(artifact, composition, self.folder / "layer", present=self.present, limits=limits)
        kept_archive = self.folder / f"{artifact.sha256}.zip"
        artifact.path.replace(kept_archive)
        snapshot = Snapshot.from_bytes(snapshot.to_bytes(), lambda _: kept_archive) or snapshot
        self.written, self.composition = attrs.evolve(written, snapshot=snapshot), composition
        if made is not None:
            self.composition = made.composition
            self.present.add(made.composition.sources[-1].name)
        return made

    def next_layer(self, limits: Limits = TIGHT) -> Layer:
        made = self.layer(limits)
        assert made is not None
        return made


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path)
    made.write(a=40 * KIB, m=40 * KIB, z=40 * KIB)
    made.layer(Limits(archive=1))
    return made


def sizes(layer: Layer) -> list[int]:
    return [source.size_bytes // KIB for source in layer.composition.sources]


def test_a_layer_holds_what_is_new_and_names_itself_by_its_hash(tree: Tree) -> None:
    tree.write(m=10 * KIB)
    made = tree.next_layer()
    assert sizes(made) == [120, 10]
    assert made.composition.sources[-1].name == f"{made.artifact.sha256}.layer"
    assert made.composition.is_stored
    assert sorted(path.name for path in tree.folder.iterdir() if path.name == "layer") == ["layer"]


def test_layers_of_which_much_is_needed_are_referred_to(tree: Tree) -> None:
    tree.write(n=10 * KIB)
    tree.next_layer()
    tree.write(o=20 * KIB)
    assert sizes(tree.next_layer()) == [120, 10, 20]


def test_layers_of_which_little_is_needed_go_into_the_next(tree: Tree) -> None:
    limits = Limits(saved=0, repeated=32 * KIB)
    tree.write(n=10 * KIB)
    tree.next_layer(limits)
    tree.write(o=20 * KIB)
    assert sizes(tree.next_layer(limits)) == [120, 30]
    tree.write(p=30 * KIB)
    assert sizes(tree.next_layer(limits)) == [120, 60]
    tree.write(q=1 * KIB)
    assert sizes(tree.next_layer(limits)) == [120, 60, 1]


def test_a_layer_of_which_nothing_is_needed_is_dropped(tree: Tree) -> None:
    tree.write(n=10 * KIB)
    tree.next_layer()
    tree.write(n=12 * KIB)
    assert sizes(tree.next_layer()) == [120, 12]


def test_there_are_never_more_sources_than_allowed(tree: Tree) -> None:
    limits = Limits(saved=0, repeated=0, sources=3)
    for number in range(6):
        tree.write(**{f"n{number}": (10 + number) * KIB})
        assert len(tree.next_layer(limits).composition.sources) <= 4


def test_what_lay_in_a_layer_that_is_gone_is_written_again(tree: Tree) -> None:
    tree.write(n=10 * KIB)
    tree.present.remove(tree.next_layer().composition.sources[-1].name)
    tree.write(o=20 * KIB)
    assert sizes(tree.next_layer()) == [120, 30]


def test_without_the_base_the_archive_is_stored_whole(tree: Tree) -> None:
    tree.present.clear()
    tree.write(n=1)
    assert tree.layer() is None


@pytest.mark.parametrize(
    ("limits", "layered"),
    [
        (Limits(saved=64 * KIB), True),
        (Limits(saved=125 * KIB), False),
        (Limits(saved=200 * KIB), False),
        (Limits(saved=0, archive=1 << 20), True),
        (Limits(saved=0, archive=100 * KIB), False),
    ],
    ids=["worth it", "most is new", "small", "below 4 GiB", "above"],
)
def test_a_layer_is_made_where_it_is_worth_it(tree: Tree, limits: Limits, layered: bool) -> None:
    tree.write(n=20 * KIB)
    assert (tree.layer(limits) is not None) == layered


@pytest.mark.parametrize(("fetched", "layered"), [(0, False), (100 * KIB, True)])
def test_a_base_of_which_little_is_left_is_given_up(tree: Tree, fetched: int, layered: bool) -> None:
    for name in ("m", "z"):
        (tree.folder / "root" / name).unlink()
    assert (tree.layer(Limits(saved=0, fetched=fetched)) is not None) == layered


def test_an_archive_that_is_not_what_was_told_is_refused(tree: Tree) -> None:
    assert tree.composition is not None
    assert tree.written is not None
    wrong = tree.composition.after([], sha256="ab" * 32, entries=7)
    archive = attrs.evolve(tree.written.artifact, path=tree.written.snapshot.archive)
    with pytest.raises(ValueError, match="has 3 entries besides the plan, not 7"):
        make_layer(archive, wrong, tree.folder / "layer", present=tree.present, limits=TIGHT)


def test_an_edit_that_only_removes_still_has_a_plan_of_its_own(tree: Tree) -> None:
    (tree.folder / "root" / "m").unlink()
    made = tree.next_layer()
    assert sum(part.entries for part in made.composition.parts) == 2
    assert {part.source for part in made.composition.parts} == {0}
