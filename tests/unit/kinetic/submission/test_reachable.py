"""Whether jobs can open the URLs of their `Data`, as far as this machine knows."""

import importlib.util
from typing import Any

import pytest

from kinetic.host import load_host
from kinetic.submission.reachable import Reach
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import Backend, BackendDriver, DriverContext, Reference


def opened(context: DriverContext) -> Backend:
    raise AssertionError("looking at URLs opens no backend")


def told(*references: str | Reference, remote: bool | None = False, **options: Any) -> list[Finding]:
    made = [one if isinstance(one, Reference) else Reference(uri=one, is_dir=False) for one in references]
    driver = None if remote is None else BackendDriver(name="any", open=opened, remote=remote)
    reach = Reach(host=load_host({}), driver=driver, options=RunOptions(**options))
    return list(reach.findings(made, "gs://store/folder"))


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this machine have no driver of a cloud."""
    find: Any = importlib.util.find_spec
    absent = {"gcsfs", "s3fs", "datasets"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in absent else find(name, *rest))


def test_what_can_be_opened_is_no_finding() -> None:
    assert told("file:///data", "cache:00", "s3://bucket/x", "gs://bucket/x", "hf://name", "http://host/x") == []


@pytest.mark.parametrize("options", [{}, {"isolation": "venv"}, {"container_image": "prebuilt"}])
@pytest.mark.parametrize("remote", [True, False])
def test_a_scheme_that_nobody_knows_is_an_error(remote: bool, options: dict[str, Any]) -> None:
    (finding,) = told("abff://bucket/x", "abff://bucket/y", remote=remote, **options)
    assert (finding.code, finding.severity) == ("data_unreachable", Severity.ERROR)
    assert "at abff://, which neither a plugin nor fsspec knows; did you mean abfs://?" in finding.message


def test_a_chain_of_schemes_is_one_that_nobody_knows() -> None:
    (finding,) = told("simplecache::gs://bucket/x")
    assert finding.severity is Severity.ERROR


def test_what_an_image_of_others_knows_is_not_known_here() -> None:
    (finding,) = told("ours://x", remote=True, container_image="registry/ours:1")
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("url", "command"),
    [
        ("gs://bucket/x", "pip install 'kinetic-run[gcs]'"),
        ("s3://bucket/x", "pip install 'kinetic-run[s3]'"),
        ("hf://name", "pip install datasets"),
    ],
)
def test_a_driver_that_is_not_installed_is_named_with_what_brings_it(lacking: None, url: str, command: str) -> None:
    (finding,) = told(url)
    assert finding.severity is Severity.ERROR
    assert finding.message.endswith(command)
    for elsewhere in ({"remote": True}, {"isolation": "venv"}, {"python": "3.12"}, {"remote": None}):
        (finding,) = told(url, **elsewhere)
        assert finding.severity is Severity.WARNING
        assert command in finding.message


def test_a_driver_of_fsspec_that_lacks_a_package_is_named_too() -> None:
    (finding,) = told("dropbox://x")
    assert finding.severity is Severity.ERROR
    assert "dropboxdrivefs" in finding.message


def test_what_lives_in_one_process_cannot_travel_by_url() -> None:
    (finding,) = told("memory://x", remote=True)
    assert finding.severity is Severity.ERROR


def test_the_store_and_what_is_mounted_need_no_driver_of_the_jobs(lacking: None) -> None:
    assert told("gs://store/folder/cache/00", remote=True) == []
    mounted = Reference(uri="gs://bucket/x/", is_dir=True, mount_path="/data", fuse=True)
    assert told(mounted, remote=True) == []
    assert len(told(mounted, remote=False)) == 1
