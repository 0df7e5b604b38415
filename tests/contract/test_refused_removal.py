"""A store that takes back nothing: the value is the user's all the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import Servers, cloudy_place
from tests.fakes.project import Project
from tests.fakes.servers.proxy import Proxy, Rule
from tests.fakes.servers.stores import CLOUDS

JOB = """
    import kinetic

    @kinetic.run(accelerator="cpu", backend="local")
    def double(x):
        return 2 * x
"""


@pytest.fixture
def refusing(tmp_path: Path, servers: Servers) -> Iterator[tuple[Project, dict[str, str], Proxy]]:
    """Give a project, and the environment in which its store removes nothing of a job."""
    place = cloudy_place("s3", servers, tmp_path)
    assert place.proxy is not None
    made = Project(tmp_path)
    made.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    made.write("job.py", JOB)
    environ = {
        "KINETIC_STORAGE": place.url.replace(" ", "-"),
        "AWS_EC2_METADATA_DISABLED": "true",
        **CLOUDS["s3"].configured(place.proxy.address),
    }
    assert made.run("import job; print(job.double(1))", environ=environ).out.endswith("2\n")
    place.proxy.break_(Rule(fault="status", status=403, method="POST|DELETE", times=1000))
    yield made, environ, place.proxy
    place.proxy.break_()


@pytest.mark.parametrize("call", ["job.double(2)", "job.double.run_async(2).result()"])
def test_the_value_of_a_job_comes_home(refusing: tuple[Project, dict[str, str], Proxy], call: str) -> None:
    project, environ, _ = refusing
    ended = project.run(f"import json, job; print(json.dumps({call}))", environ=environ)
    assert ended.said == 4
    assert "could not be removed" in ended.err
    assert "kinetic gc" in ended.err


def test_the_values_of_a_batch_come_home(refusing: tuple[Project, dict[str, str], Proxy]) -> None:
    project, environ, _ = refusing
    code = "import json, job, kinetic; print(json.dumps(kinetic.map(job.double, [1, 2]).results()))"
    ended = project.run(code, environ=environ)
    assert ended.said == [2, 4]
    assert "what is left of batch-" in ended.err
