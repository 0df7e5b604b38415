"""A project whose function notes each of its runs, so that a test sees what ran how often."""

from collections import Counter
from pathlib import Path

import attrs
import pytest

from tests.fakes.project import Project


@attrs.frozen
class Noted:
    """A project, and the list of the runs of its function."""

    project: Project

    @property
    def runs(self) -> Path:
        return self.project.base / "runs"

    @property
    def inputs(self) -> Counter[str]:
        """How often the function ran with each input."""
        return Counter(line.split()[0] for line in self._lines())

    @property
    def job_ids(self) -> Counter[str]:
        """How often each job ran."""
        return Counter(line.split()[1] for line in self._lines())

    def _lines(self) -> list[str]:
        return self.runs.read_text().splitlines() if self.runs.exists() else []

    def group_ids(self) -> list[str]:
        """The batches that the store knows."""
        folder = self.project.store / "batches"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


TRAIN = """
        import os, pathlib, time
        import kinetic
        import helper

        RUNS = RUNS_FILE

        def note(x):
            with open(RUNS, "a") as runs:
                runs.write(f"{x} {os.environ['KINETIC_JOB_ID']}\\n")

        @kinetic.run(accelerator="cpu")
        def double(x):
            note(x)
            return helper.twice(x)

        @kinetic.run(accelerator="cpu")
        def flaky(x):
            first = not any(line.split()[0] == str(x) for line in pathlib.Path(RUNS).read_text().splitlines())
            note(x)
            if first and x % 2:
                raise helper.Mishap(x)
            return helper.twice(x)

        @kinetic.run(accelerator="cpu")
        def fail_odd(x):
            note(x)
            if x % 2:
                raise helper.Mishap(x)

        @kinetic.run(accelerator="cpu")
        def rest(x):
            note(x)
            time.sleep(600)

        @kinetic.run(accelerator="cpu")
        def keep(*args, **kwargs):
            return args, kwargs
        """


@pytest.fixture
def noted(tmp_path: Path) -> Noted:
    made = Noted(Project(tmp_path))
    made.project.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    made.project.write(
        "train.py",
        TRAIN.replace("RUNS_FILE", repr(str(made.runs))),
    )
    made.project.write(
        "helper.py",
        """
        class Mishap(Exception):
            pass

        def twice(x):
            return 2 * x
        """,
    )
    made.runs.write_text("")
    return made
