from pathlib import Path

import pytest

from tests.fakes.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    made.write(
        "train.py",
        """
        import kinetic
        import helper

        @kinetic.run(accelerator="cpu")
        def double(x):
            print(f"doubling {x}")
            return helper.twice(x)

        @kinetic.run
        def fail(text):
            raise helper.Mishap(text)

        @kinetic.run(accelerator="cpu")
        def slow(path):
            import pathlib, time
            pathlib.Path(path).write_text("started")
            print("started", flush=True)
            time.sleep(600)
        """,
    )
    made.write(
        "helper.py",
        """
        class Mishap(Exception):
            pass

        def twice(x):
            return 2 * x
        """,
    )
    return made
