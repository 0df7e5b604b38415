"""What a job brings along: dependencies to install, data to put in place."""

import importlib.util
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.system.runner.artifacts import Bench


def fake_uv(folder: Path, script: str) -> dict[str, str]:
    """Put a program named uv on the path."""
    program = folder / "bin" / "uv"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


def test_requirements_are_installed_with_uv_before_the_call_is_loaded(bench: Bench, tmp_path: Path) -> None:
    env = fake_uv(tmp_path, f'echo "$@" > {tmp_path}/called; cat "$6" >> {tmp_path}/called')
    bench.folder.joinpath("requirements.txt").write_text("numpy==2.0\n")
    bench.define("def f(path):\n    return open(path).read()", "f", str(tmp_path / "called"))
    called = bench.run("--requirements", bench.uri("requirements.txt"), env=env).value
    assert called.startswith(f"pip install --python {sys.executable} -r ")
    assert called.endswith("numpy==2.0\n")


def test_a_failing_installer_is_a_failure_with_what_it_said(bench: Bench, tmp_path: Path) -> None:
    env = fake_uv(tmp_path, "echo 'no such package: nump' >&2; exit 3")
    bench.folder.joinpath("requirements.txt").write_text("nump\n")
    bench.define("def f():\n    return 1")
    failure = bench.run("--requirements", bench.uri("requirements.txt"), env=env).failure
    assert failure["phase"] == "requirements install"
    assert "exit code 3" in str(failure["exception"])
    assert "no such package: nump" in str(failure["exception"])


def test_an_empty_requirements_file_installs_nothing(bench: Bench, tmp_path: Path) -> None:
    env = fake_uv(tmp_path, "exit 3")
    bench.folder.joinpath("requirements.txt").write_text("\n# nothing\n")
    bench.define("def f():\n    return 1")
    assert bench.run("--requirements", bench.uri("requirements.txt"), env=env).value == 1


def test_without_uv_pip_installs_where_there_is_one(bench: Bench, tmp_path: Path) -> None:
    bench.folder.joinpath("requirements.txt").write_text("--no-index\nno-such-distribution-at-all\n")
    bench.define("def f():\n    return 1")
    failure = bench.run("--requirements", bench.uri("requirements.txt"), env={"PATH": str(tmp_path)}).failure
    words = "no-such-distribution-at-all" if importlib.util.find_spec("pip") else "neither uv nor pip"
    assert words in str(failure["exception"])


def reference(uri: str, **more: Any) -> dict[str, Any]:
    """Return a reference dict."""
    return {"__data_ref__": True, "uri": uri, "is_dir": False, "mount_path": None, "fuse": False, "id": "r1", **more}


def test_references_become_absolute_paths_and_each_uri_is_downloaded_once(bench: Bench) -> None:
    bench.folder.joinpath("store/cache/0a/deep").mkdir(parents=True)
    bench.folder.joinpath("store/cache/0a/deep/a.txt").write_text("A")
    bench.folder.joinpath("store/b.txt").write_text("B")
    tree = reference(bench.uri("store/cache/0a/"), is_dir=True, empty_dirs=["hollow/er"])
    file = reference(bench.uri("store/b.txt"))
    source = (
        "import os\n"
        "def f(cfg, again, *, twin):\n"
        "    d, t = cfg['dir'], cfg['files'][0]\n"
        "    return [os.path.isabs(d), open(d + '/deep/a.txt').read(), os.path.isdir(d + '/hollow/er'),\n"
        "            os.path.basename(t), open(t).read(), again == d, twin == t, again is d]\n"
    )
    bench.define(source, "f", {"dir": tree, "files": (file,)}, tree, twin=dict(file))
    assert bench.run().value == [True, "A", True, "b.txt", "B", True, True, True]


def test_a_dict_of_the_users_own_that_looks_like_a_reference_is_left_alone(bench: Bench) -> None:
    bench.folder.joinpath("b.txt").write_text("B")
    real, fake = reference(bench.uri("b.txt")), reference("gs://never", id="other")
    bench.define("def f(real, fake):\n    return open(real).read(), fake", "f", real, fake)
    bench.payload["data_ref_ids"] = ["r1"]
    assert bench.run().value == ("B", fake)


def test_nothing_is_walked_when_the_payload_says_that_there_are_no_references(bench: Bench) -> None:
    bench.define("def f(x):\n    return x", "f", reference("gs://never"))
    bench.payload["has_data_refs"] = False
    assert bench.run().value == reference("gs://never")


def test_data_that_is_not_there_is_a_failure_with_its_phase(bench: Bench) -> None:
    bench.define("def f(x):\n    return x", "f", reference(bench.uri("gone.txt")))
    failure = bench.run().failure
    assert failure["phase"] == "data resolve"
    assert "gone.txt" in str(failure["exception"])


def test_volumes_appear_below_the_mount_root_before_arguments_are_resolved(bench: Bench) -> None:
    bench.folder.joinpath("store").mkdir()
    bench.folder.joinpath("store/a.txt").write_text("A")
    volume = reference(bench.uri("store/"), is_dir=True, mount_path="/data/train")
    single = reference(bench.uri("store/a.txt"), mount_path="/data/one.txt", id="r2")
    fused = reference(bench.uri("store"), is_dir=True, mount_path="/fused", fuse=True, id="r3")
    source = (
        "import os\n"
        "def f(*paths):\n"
        "    return paths, open(paths[0] + '/a.txt').read(), open(paths[1]).read(), os.stat(paths[2]).st_mode & 0o777\n"
    )
    bench.define(source, "f", volume, single, fused)
    bench.payload["volumes"] = [volume, single, fused]
    root = str(bench.folder / "mounts")
    paths, tree_text, file_text, fused_mode = bench.run(env={"KINETIC_MOUNT_ROOT": root}).value
    assert paths == (f"{root}/data/train", f"{root}/data/one.txt", f"{root}/fused")
    assert (tree_text, file_text, fused_mode) == ("A", "A", 0o555)


def test_a_volume_that_is_looked_for_at_its_mount_path_is_told_with_its_real_place(bench: Bench) -> None:
    bench.folder.joinpath("store").mkdir()
    bench.define("def f():\n    return open('/data/train/a.txt').read()")
    bench.payload["volumes"] = [reference(bench.uri("store/"), is_dir=True, mount_path="/data/train")]
    failure = bench.run(env={"KINETIC_MOUNT_ROOT": str(bench.folder / "mounts")}).failure
    assert f"'/data/train/a.txt' is '{bench.folder}/mounts/data/train/a.txt'" in failure["traceback"]


@pytest.mark.parametrize(
    "volume", [{"uri": "x"}, reference("file:///x"), reference("file:///x", mount_path="rel/../..")]
)
def test_a_volume_that_cannot_be_mounted_is_a_failure(bench: Bench, volume: dict[str, Any]) -> None:
    bench.define("def f():\n    return 1")
    bench.payload["volumes"] = [volume]
    failure = bench.run().failure
    assert failure["phase"] == "data resolve"
    assert isinstance(failure["exception"], ValueError)
