"""Shared by the tests of the plugin host."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetic.testing.log import RecordingLog
from kinetic_core.plugin import DriverContext, RunOptions, RunRequest, Surroundings
from tests.fakes.plugin_site import PluginSite


@pytest.fixture
def log() -> RecordingLog:
    return RecordingLog()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginSite]:
    directory = tmp_path / "site"
    directory.mkdir()
    monkeypatch.syspath_prepend(str(directory))
    before = set(sys.modules)
    yield PluginSite(directory)
    for name in set(sys.modules) - before:
        if name.startswith("plugin_site_"):
            del sys.modules[name]


@pytest.fixture
def request_with(tmp_path: Path) -> Callable[..., RunRequest]:
    def request_with(**options: Any) -> RunRequest:
        return RunRequest(
            job_id="job-0a1b2c3d",
            function=len,
            options=RunOptions(**{"accelerator": "cpu", **options}),
            name="len",
            surroundings=Surroundings(environ={}, home=tmp_path, cwd=tmp_path, sys_path=()),
        )

    return request_with


@pytest.fixture
def request_(request_with: Callable[..., RunRequest]) -> RunRequest:
    return request_with()


@pytest.fixture
def context(tmp_path: Path, log: RecordingLog) -> DriverContext:
    return DriverContext(log=log, environ={}, home=tmp_path)
