"""What the plugin leaves in the plan."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.model.request import RunOptions, RunRequest, Surroundings
from kinetic_jax.plugin import kinetic_plan_entries


def entries(hosts: int | None) -> Any:
    nowhere = Path("/nowhere")
    request = RunRequest(
        job_id="job-0a1b2c3d",
        function=len,
        options=RunOptions(hosts=hosts),
        name="len",
        surroundings=Surroundings(environ={}, home=nowhere, cwd=nowhere, sys_path=()),
    )
    return kinetic_plan_entries(nowhere, request)


@pytest.mark.parametrize(("installed", "hosts", "meets"), [(True, 2, True), (True, 1, False), (False, 2, False)])
def test_several_hosts_meet_where_jax_is_installed(
    monkeypatch: pytest.MonkeyPatch, installed: bool, hosts: int, meets: bool
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if installed else None)
    assert entries(hosts) == ({"meets": True} if meets else {})
    assert entries(None) == {}
