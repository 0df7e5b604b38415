"""A project that the test may write and import."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.kinetic_core.packaging.projects import HELPERS, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Put an empty project on the import path, and forget its modules afterwards."""
    root, artifacts = tmp_path / "proj", tmp_path / "artifacts"
    root.mkdir()
    artifacts.mkdir()
    monkeypatch.syspath_prepend(root)
    made = Project(root, artifacts)
    before = set(sys.modules)
    yield made
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(tmp_path)) or not file:
            del sys.modules[name]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give an empty directory to be packaged."""
    path = tmp_path / "root"
    path.mkdir()
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Give the place of an archive, in a directory of its own."""
    path = tmp_path / "out"
    path.mkdir()
    return path / "context.zip"


@pytest.fixture
def trainer(project: Project) -> Any:
    """Give a module with a helper module, both of the project."""
    project.write(
        {
            "helpers.py": HELPERS,
            "trainer.py": """
                import helpers
                from helpers import Model

                def train(x, model, *, rate=2):
                    helpers.set_rate(rate)
                    same = isinstance(model, helpers.Model) and isinstance(model, Model)
                    return Model(x).scaled().x, helpers.RATE, same, model.x
            """,
        }
    )
    return project.load("trainer")
