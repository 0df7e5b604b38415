"""Cached data that rots in the store: the job that meets it fails by name, and the next submission mends it."""

from pathlib import Path

import pytest

from tests.fakes.project import Project


@pytest.fixture
def reading(project: Project) -> Project:
    project.write(
        "job.py",
        """
        import pathlib, kinetic

        @kinetic.run(accelerator="cpu")
        def read(path):
            top = pathlib.Path(path)
            return sorted(one.read_text() for one in ([top] if top.is_file() else top.rglob("*.txt")))
        """,
    )
    for name in ("tree/a.txt", "tree/deep/b.txt"):
        project.write(name, f"all of {name}")
    return project


def call(data: str) -> str:
    return f"import json, job, kinetic; print(json.dumps(job.read(kinetic.Data({data!r}))))"


def cached(project: Project, name: str) -> Path:
    (found,) = project.store.glob(f"cache/*/{name}")
    return found


@pytest.mark.parametrize(("data", "damaged", "shown"), [("tree/a.txt", "a.txt", "a.txt"), ("tree", "deep/b.txt", "")])
def test_damaged_data_fails_one_job_and_heals(reading: Project, data: str, damaged: str, shown: str) -> None:
    whole = reading.run(call(data)).said
    rotten = cached(reading, damaged)
    # Of the same size: nothing but its content tells.
    rotten.write_bytes(rotten.read_bytes()[:-1] + b"?")
    uri = f"file://{rotten.parents[damaged.count('/')]}/{shown}"
    ended = reading.run(call(data), fails=True)
    assert "failed in phase 'data resolve'" in ended.err
    assert f"{uri} is damaged in the store" in ended.err
    assert "submit again, and it is uploaded anew" in ended.err
    assert reading.run(call(data)).said == whole
    assert cached(reading, damaged).read_bytes().endswith(b"t")


def test_data_that_vanished_from_the_cache_is_uploaded_again(reading: Project) -> None:
    whole = reading.run(call("tree")).said
    cached(reading, "deep/b.txt").unlink()
    assert reading.run(call("tree")).said == whole
