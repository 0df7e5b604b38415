"""Any tree, archived, is read back by zipfile as it lies on disk."""

import dataclasses
import os
import stat
import tempfile
import zipfile
from pathlib import Path

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.packaging.scan import scan
from kinetic_core.wire.names import PLAN_PATH
from kinetic_core.wire.plan import Plan, read_plan

NAMES = st.sampled_from(["a", "b", "a.py", "é", "日本", "back\\slash", "new\nline", " blank", "~", "A", "-", ".hidden"])


@attrs.frozen
class File:
    content: bytes
    mode: int
    mtime: int


FILES = st.builds(
    File,
    st.one_of(st.binary(max_size=200), st.binary(max_size=20).map(lambda data: data * 100)),
    st.sampled_from([0o400, 0o600, 0o644, 0o755, 0o777]),
    st.integers(-(10**9), 10**10),
)
Tree = dict[str, "File | Tree"]
TREES = st.recursive(
    st.dictionaries(NAMES, FILES, max_size=3),
    lambda below: st.dictionaries(NAMES, st.one_of(FILES, below), max_size=4),
    max_leaves=8,
)


def make(folder: Path, tree: Tree) -> None:
    folder.mkdir()
    for name, node in tree.items():
        if isinstance(node, File):
            path = folder / name
            path.write_bytes(node.content)
            path.chmod(node.mode)
            os.utime(path, (node.mtime, node.mtime))
        else:
            make(folder / name, node)


def flat(tree: Tree, prefix: str = "") -> dict[str, File | None]:
    """Return the files, and the empty directories as `None`, by their names in an archive."""
    found: dict[str, File | None] = {}
    for name, node in tree.items():
        if isinstance(node, File):
            found[prefix + name] = node
        elif node:
            found.update(flat(node, f"{prefix}{name}/"))
        else:
            found[f"{prefix}{name}/"] = None
    return found


@given(tree=TREES)
@settings(max_examples=60)
def test_zipfile_reads_back_every_file_mode_and_empty_directory(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as name:
        root, target = Path(name, "root"), Path(name, "context.zip")
        make(root, tree)
        written = write_archive(scan(root, RuleSet.compile(())), Plan(package_root="/p"), target)
        expected = flat(tree)
        with zipfile.ZipFile(target) as opened:
            infos = opened.infolist()
            assert opened.testzip() is None
            assert [info.filename for info in infos] == [*sorted(expected), PLAN_PATH]
            for info in infos[:-1]:
                node = expected[info.filename]
                if node is not None:
                    assert opened.read(info) == node.content
                    assert stat.S_IMODE(info.external_attr >> 16) == node.mode
                    assert 1980 <= info.date_time[0] <= 2107
        assert written.findings == ()
        assert {entry.name: entry.size_bytes for entry in written.manifest.entries} == {
            info.filename: info.file_size for info in infos
        }


TEXTS = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3),
    max_leaves=5,
)
PLANS = st.builds(
    Plan,
    package_root=st.text(st.characters(), max_size=20),
    entry_rel=TEXTS,
    client_cwd_rel=st.none() | TEXTS,
    sys_path_rel=st.lists(TEXTS, max_size=4).map(tuple),
    excluded=st.dictionaries(TEXTS, st.integers(0, 10**6), max_size=4),
    extensions=st.dictionaries(TEXTS, JSON, max_size=3),
)


@given(plan=PLANS)
def test_any_plan_comes_back_from_its_json(plan: Plan) -> None:
    assert read_plan(plan.to_bytes()) == (plan, ())


@given(plan=PLANS)
def test_a_plan_of_file_names_that_are_not_utf8_comes_back_too(plan: Plan) -> None:
    odd = dataclasses.replace(plan, package_root="/p\udcff")
    assert read_plan(odd.to_bytes()) == (odd, ())
