"""Several hosts on this machine are one `jax.distributed` job, where JAX is installed."""

import importlib.util
from pathlib import Path

import pytest

from tests.fakes.project import Project

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed: kinetic-run[jax]"),
    pytest.mark.slow,
]
JOB = """
    import kinetic


    @kinetic.run(accelerator="cpu", backend="local", hosts=2, timeout=100)
    def gather(values):
        import jax
        from jax.experimental import multihost_utils

        seen = jax.process_index(), jax.process_count(), jax.device_count()
        return seen, multihost_utils.process_allgather(values + jax.process_index()), values.astype("bfloat16")


    @kinetic.run(accelerator="cpu", backend="local", hosts=2, timeout=100)
    def fail():
        import jax
        from jax.experimental import multihost_utils

        if jax.process_index() == 1:
            raise LookupError("host 1 found nothing")
        # Waits for the other.
        return multihost_utils.process_allgather(jax.numpy.zeros(1))
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "client")
    made.write("pyproject.toml", "[project]\nname = 'mine'\nversion = '0'\ndependencies = []\n")
    made.write("job.py", JOB)
    return made


def test_hosts_are_one_job_and_arrays_go_there_and_come_home(project: Project) -> None:
    said = project.run("""
        import json, jax, job
        seen, gathered, halves = job.gather.run_async(jax.numpy.array([1.0, 2.0])).result()
        assert isinstance(halves, jax.Array)
        print(json.dumps([seen, gathered.tolist(), halves.tolist(), str(halves.dtype)]))
    """).said
    assert said == [[0, 2, 2], [[1.0, 2.0], [2.0, 3.0]], [1.0, 2.0], "bfloat16"]


def test_a_host_that_fails_ends_the_others_that_wait_for_it(project: Project) -> None:
    said = project.run("""
        import json, job
        try:
            job.fail.run_async().result()
        except LookupError as error:
            print(json.dumps([str(error), "on host 1" in error.__notes__[0]]))
    """).said
    assert said == ["host 1 found nothing", True]
