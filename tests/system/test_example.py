"""The example project, run as a newcomer runs it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits"


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, bytes], dict[str, bytes]]:
    """Run a copy of the example; return what it printed, and the project before and after."""
    pytest.importorskip("sklearn")
    base = tmp_path_factory.mktemp("example")
    project = base / "digits"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("__pycache__"))
    before = tree(project)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("KINETIC_")},
        "HOME": str(base),
        "KINETIC_STORAGE": base.joinpath("store").as_uri(),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ran = subprocess.run(
        [sys.executable, project / "run_demo.py"],
        cwd=base,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout, before, tree(project)


Demo = tuple[str, dict[str, bytes], dict[str, bytes]]


def test_the_example_reaches_a_good_accuracy_in_another_process(demo: Demo) -> None:
    printed, _, _ = demo
    accuracy = re.search(r"Accuracy on digits never seen: ([\d.]+)%", printed)
    assert accuracy is not None, printed
    assert float(accuracy[1]) > 94
    here = re.search(r"this process is (\d+)", printed)
    there = re.search(r"Ran in process (\d+)", printed)
    assert here is not None
    assert there is not None
    assert here[1] != there[1]


def test_the_example_streams_its_log_and_leaves_its_model_in_the_store(demo: Demo) -> None:
    printed, _, _ = demo
    assert "epoch 60: loss" in printed
    outputs = re.search(r"Outputs: file://(\S+)", printed)
    assert outputs is not None, printed
    assert (Path(outputs[1]) / "model.npz").stat().st_size > 0


def test_the_example_says_why_this_root_and_what_ships(demo: Demo) -> None:
    printed, _, _ = demo
    assert re.search(r"Package root: \S+/digits\n  because .*pyproject\.toml", printed), printed
    ships, stays = printed.split("Stays at home")
    assert "configs/train.toml" in ships
    assert "src/digits/evaluation.py" in ships
    assert "notes/ideas.md" not in ships
    assert "notes/" in stays


def test_the_examples_project_is_not_written_to(demo: Demo) -> None:
    _, before, after = demo
    assert after == before
