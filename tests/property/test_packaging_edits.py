"""Whatever is done to a tree between two packagings, the second gives the bytes that a first one would give."""

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import attrs
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from kinetic_core.model.trust import RACY_NS
from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.ignorefile import read_ignore_file
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.packaging.scan import Scan, scan
from kinetic_core.packaging.snapshot import Snapshot
from kinetic_core.wire.plan import Plan

LONG = (1 << 20) + 17
NOISE = random.Random(3).randbytes(LONG)
CONTENTS = [b"", b"x", b"y", b"some text " * 30, b"other words " * 25, NOISE[:300], NOISE[300:600]]
LONG_CONTENTS = [b"line\n" * (LONG // 5), b"word\n" * (LONG // 5), NOISE]
NAMES = ["a", "b", "a-b", "d/a", "d/b", "d/e/a", "d/e/f/g", "é", "z/z", "long"]
FOLDERS = ["d", "d/e", "z", "new"]
PATTERNS = ["", "b\n", "*a\n", "d/\n", "d/e\nz\n", "*\n"]

name, content = st.sampled_from(NAMES), st.sampled_from(CONTENTS)
Edit = Callable[[Path], object]


def write(name: str, data: bytes) -> Edit:
    def edit(root: Path) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    return edit


def remove(name: str) -> Edit:
    def edit(root: Path) -> None:
        path = root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    return edit


def rename(old: str, new: str) -> Edit:
    return lambda root: (root / old).replace(root / new)


def touch(name: str, seconds: int) -> Edit:
    return lambda root: os.utime(root / name, (seconds, seconds))


def change_mode(name: str, mode: int) -> Edit:
    return lambda root: (root / name).chmod(mode)


def replace_unseen(name: str, *, in_place: bool) -> Edit:
    """Put other bytes of the same size there, under the same times: only the kernel's own time of change tells."""

    def edit(root: Path) -> None:
        path = root / name
        before, data = path.stat(), path.read_bytes()
        other = bytes(byte ^ 1 for byte in data[:50]) + data[50:]
        if in_place:
            with path.open("r+b") as stream:
                stream.write(other)
        else:
            (root / "fresh").write_bytes(other)
            (root / "fresh").chmod(before.st_mode)
            (root / "fresh").replace(path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return edit


def link(name: str, target: str) -> Edit:
    def edit(root: Path) -> None:
        (root / "fresh").symlink_to(target)
        (root / "fresh").replace(root / name)

    return edit


def nothing(_: Path) -> None:
    """Leave the tree as it is."""


EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.just(nothing),
    st.builds(write, name, content),
    st.builds(write, st.just("long"), st.sampled_from(LONG_CONTENTS)),
    st.builds(remove, st.sampled_from([*NAMES, *FOLDERS])),
    st.builds(rename, st.sampled_from([*NAMES, *FOLDERS]), st.sampled_from([*NAMES, *FOLDERS])),
    st.builds(touch, name, st.integers(10**9, 10**9 + 5)),
    st.builds(change_mode, name, st.sampled_from([0o600, 0o644, 0o755])),
    st.builds(replace_unseen, name, in_place=st.booleans()),
    st.builds(link, st.sampled_from([*NAMES, "l", "new"]), st.sampled_from(["a", "d", "e", "d/e", "z", ".", "gone"])),
    st.builds(write, st.just(".kineticignore"), st.sampled_from(PATTERNS).map(str.encode)),
)


@attrs.frozen
class Step:
    edits: list[Edit]
    settled: bool
    """Whether time passes before the next step, so that the kernel's times tell of every change."""
    plan: Plan
    threads: int


STEPS = st.builds(
    Step,
    st.lists(EDITS, max_size=3),
    st.booleans(),
    st.sampled_from([Plan(package_root="/p"), Plan(package_root="/p"), Plan(package_root="/q")]),
    st.sampled_from([1, 2]),
)


def apply(edits: list[Edit], root: Path) -> None:
    for edit in edits:
        try:
            edit(root)
        except OSError:
            (root / "fresh").unlink(missing_ok=True)


def look(root: Path, *, settled: bool, earlier: Snapshot | None = None) -> Scan:
    found = scan(root, RuleSet.compile(read_ignore_file(root)[0]), earlier=earlier)
    return attrs.evolve(found, started_ns=found.started_ns + 2 * RACY_NS) if settled else found


def let_time_pass(folder: Path) -> None:
    """Wait until a change made now has another time than any made before."""
    probe = folder / "probe"
    probe.touch()
    before = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns < before + 10**7:
        probe.touch()


@given(steps=st.lists(STEPS, min_size=2, max_size=7))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_packaging_after_any_edits_gives_the_bytes_of_packaging_afresh(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root, kept = folder / "root", folder / "kept.zip"
        root.mkdir()
        apply([write(name, content) for name, content in zip(NAMES, CONTENTS, strict=False)], root)
        snapshot: Snapshot | None = None
        for step in steps:
            apply(step.edits, root)
            found = look(root, settled=step.settled)
            cold = write_archive(found, step.plan, folder / "cold.zip")
            again = look(root, settled=step.settled, earlier=snapshot)
            event("looked at again" if snapshot and again.outline is snapshot.outline else "listed")
            assert attrs.evolve(again, outline=None, started_ns=0) == attrs.evolve(found, outline=None, started_ns=0)
            warm = write_archive(again, step.plan, folder / "warm.zip", earlier=snapshot, threads=step.threads)
            assert warm.artifact.path.read_bytes() == cold.artifact.path.read_bytes()
            assert warm.artifact.sha256 == cold.artifact.sha256
            assert (warm.manifest, warm.findings) == (cold.manifest, cold.findings)
            if not warm.is_earlier:
                warm.artifact.path.replace(kept)
            snapshot = Snapshot.from_bytes(warm.snapshot.to_bytes(), lambda _: kept)
            assert snapshot is not None
            if step.settled:
                let_time_pass(folder)
