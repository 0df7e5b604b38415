"""Content hashes after random edits: an index of an earlier time changes nothing but the work."""

import hashlib
import os
import tempfile
from pathlib import Path

import attrs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinetic_core.model.trust import RACY_NS
from kinetic_core.references.hashing import Digest, Hashed, hash_tree, still_holds
from kinetic_core.references.tree import Tree, list_tree, look_again
from tests.property.test_packaging_edits import CONTENTS, EDITS, NAMES, Edit, apply, let_time_pass, write


@attrs.frozen
class Step:
    edits: list[Edit]
    settled: bool
    """Whether time passes before the next step, so that the kernel's times tell of every change."""
    threads: int


STEPS = st.builds(Step, st.lists(EDITS, max_size=3), st.booleans(), st.sampled_from([1, 2]))


def model(root: Path) -> Digest:
    """Hash as the format says, by plain means."""
    found: dict[bytes, bytes] = {}
    size = 0
    for folder, folders, files in os.walk(root):
        counted = [name for name in files if Path(folder, name).is_file()]
        real = [name for name in folders if not Path(folder, name).is_symlink()]
        relative = os.path.relpath(folder, root)
        for name in counted:
            data = Path(folder, name).read_bytes()
            key = os.fsencode(Path(relative, name))
            found[key] = b"F" + len(key).to_bytes(8, "big") + key + hashlib.sha256(data).digest()
            size += len(data)
        if not counted and not real and relative != ".":
            key = os.fsencode(relative)
            found[key] = b"D" + len(key).to_bytes(8, "big") + key
    total = hashlib.sha256(b"kinetic data 1: directory\0" + b"".join(found[key] for key in sorted(found)))
    count = sum(1 for framed in found.values() if framed.startswith(b"F"))
    return Digest(sha256=total.hexdigest(), size_bytes=size, file_count=count)


def look(root: Path, *, settled: bool) -> Tree:
    found = list_tree(root)
    return attrs.evolve(found, started_ns=found.started_ns + 2 * RACY_NS) if settled else found


@given(steps=st.lists(STEPS, min_size=2, max_size=7))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_hashing_after_any_edits_gives_the_hash_of_reading_everything(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = folder / "root"
        root.mkdir()
        apply([write(name, content) for name, content in zip(NAMES, CONTENTS, strict=False)], root)
        earlier: Hashed | None = None
        digest = model(root)
        for step in steps:
            apply(step.edits, root)
            before, digest = digest, model(root)
            if earlier is not None:
                assert still_holds(root, earlier) is (before == digest)
                again = look_again(root, earlier.found)
                assert again is None or hash_tree(again, earlier=earlier).digest == digest
            warm = hash_tree(look(root, settled=step.settled), earlier=earlier, threads=step.threads)
            assert warm.digest == digest == hash_tree(list_tree(root)).digest
            earlier = Hashed.from_bytes(warm.to_bytes())
            assert earlier == warm
            if step.settled:
                let_time_pass(folder)
