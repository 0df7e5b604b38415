"""One bucket for everybody: who writes where, who finds what, and what a clean-up leaves alone."""

import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import attrs
import pytest

from kinetic_core.plugin import Storage
from tests.contract.conftest import Servers, cloudy_place
from tests.contract.stores import CLOUDY
from tests.fakes.project import Project
from tests.fakes.servers.proxy import Proxy

RUN: Final = """
    import json, job, kinetic
    handle = job.My_Train.run_async(kinetic.Data("notes.txt"))
    print(json.dumps([handle.job_id, handle.result(cleanup=False)]))
"""


@attrs.frozen(kw_only=True)
class Team:
    """Two people with machines of their own, and the store that they share."""

    ada: Project
    bob: Project
    store: Storage
    proxy: Proxy
    environ: dict[str, str]

    def run(self, who: Project, code: str) -> Any:
        return who.run(code, environ=self.environ | {"USER": who.base.name}).said

    def keys(self) -> set[str]:
        return {found.key for found in self.store.list()}


@pytest.fixture(params=CLOUDY)
def team(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> Team:
    place = cloudy_place(request.param, servers, tmp_path)
    assert place.proxy is not None
    projects = [Project(tmp_path / name) for name in ("Ada.L", "bob")]
    for project in projects:
        project.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
        project.write("notes.txt", "the same for both")
        project.write(
            "job.py",
            """
            import pathlib, kinetic

            @kinetic.run(accelerator="cpu")
            def My_Train(path):
                return pathlib.Path(path).read_text()
            """,
        )
    ada, bob = projects
    return Team(ada=ada, bob=bob, store=place.open(place.job_url()), proxy=place.proxy, environ=place.environ())


def test_each_writes_below_a_folder_of_its_own_and_all_share_the_cache(team: Team) -> None:
    jobs = [team.run(who, RUN) for who in (team.ada, team.bob)]
    assert [value for _, value in jobs] == ["the same for both"] * 2
    keys = team.keys()
    for (job_id, _), name in zip(jobs, ("ada-l", "bob"), strict=True):
        folder = rf"{name}-[0-9a-f]{{8}}/my-train-{job_id.removeprefix('job-')}"
        own = {key.rpartition("/")[2] for key in keys if re.fullmatch(rf"{folder}/[^/]+", key)}
        assert own == {"payload.pkl", "result.pkl", "handle.json"}
        assert f"jobs/{job_id}" in keys
    assert len([key for key in keys if re.fullmatch(r"cache/[0-9a-f]{64}/notes\.txt", key)]) == 1
    tops = {key.partition("/")[0] for key in keys}
    assert {"jobs", "cache"} < tops
    assert all(re.fullmatch(r"[a-z0-9-]+", top) for top in tops)


def test_another_machine_finds_a_job_by_its_id_and_lists_nothing_else(team: Team) -> None:
    job_id, _ = team.run(team.ada, RUN)
    team.proxy.break_()
    code = f"import json, kinetic; print(json.dumps(kinetic.attach({job_id!r}).result(cleanup=False)))"
    assert team.run(team.bob, code) == "the same for both"
    listed = [unquote(path) for _, path in team.proxy.seen if re.search(r"[?&]prefix=", path)]
    assert [path for path in listed if job_id.removeprefix("job-") not in path] == []


def test_a_clean_up_takes_the_job_and_nothing_of_anybody_else(team: Team) -> None:
    job_id, _ = team.run(team.ada, RUN)
    team.run(team.bob, RUN)
    before = team.keys()
    team.run(team.ada, f"import kinetic; kinetic.attach({job_id!r}).cleanup(); print(0)")
    gone = before - team.keys()
    assert {key.rpartition("/")[2] for key in gone} == {"payload.pkl", "result.pkl", "handle.json", job_id}
    assert all(job_id.removeprefix("job-") in key for key in gone)
