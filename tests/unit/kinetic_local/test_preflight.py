import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.findings import Severity
from kinetic_core.model.request import RunOptions, RunRequest, Surroundings
from kinetic_local.places import Places
from kinetic_local.preflight import check
from tests.fakes.scripted_runner import ScriptedPod


def codes(home: Path, environ: dict[str, str] | None = None, **options: Any) -> dict[str, Severity]:
    found = check(RunOptions(accelerator="cpu", **options), Places(home=home), environ or {})
    return {finding.code: finding.severity for finding in found}


def test_an_ordinary_request_has_nothing_in_its_way(tmp_path: Path) -> None:
    assert codes(tmp_path, container_image="bundled", storage="file:///store") == {}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"storage": "memory://store"}, "store_process_local"),
        ({"debug": True}, "debug_unsupported"),
        ({"file_mounts": {"~/data": "./data"}}, "mounts_unsupported"),
    ],
)
def test_what_the_backend_cannot_do_is_an_error(tmp_path: Path, options: dict[str, Any], code: str) -> None:
    assert codes(tmp_path, **options) == {code: Severity.ERROR}


class Fuse:
    fuse = True


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"container_image": "example.org/image:1"}, "container_image_ignored"),
    ],
)
def test_what_the_backend_does_otherwise_is_told(tmp_path: Path, options: dict[str, Any], code: str) -> None:
    assert codes(tmp_path, **options) == {code: Severity.INFO}


def test_where_the_function_finds_each_volume_is_a_warning(tmp_path: Path) -> None:
    options = RunOptions(accelerator="cpu", volumes={"/data": object(), "/models": Fuse()})
    (finding,) = check(options, Places(home=tmp_path), {})
    assert (finding.code, finding.severity) == ("volumes_not_mounted", Severity.WARNING)
    assert "/data at $KINETIC_MOUNT_ROOT/data," in finding.message
    assert finding.message.endswith("/models at $KINETIC_MOUNT_ROOT/models, a read-only copy")
    assert "os.environ.get('KINETIC_MOUNT_ROOT', '') + '/data'" in finding.remedy


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_a_limit_that_is_no_number_is_an_error(tmp_path: Path, value: str) -> None:
    assert codes(tmp_path, {"KINETIC_LOCAL_JOBS": value}) == {"job_limit_invalid": Severity.ERROR}


def test_an_embedded_interpreter_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert codes(tmp_path) == {"interpreter_unknown": Severity.ERROR}


def test_a_home_that_is_no_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    assert codes(tmp_path / "home") == {"home_unwritable": Severity.ERROR}


def test_a_place_for_temporary_files_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path and may(path, mode))
    (finding,) = check(RunOptions(accelerator="cpu"), Places(home=tmp_path / ".."), {"TMPDIR": str(tmp_path)})
    assert (finding.code, finding.severity) == ("temporary_unwritable", Severity.ERROR)
    assert str(tmp_path) in finding.message
    assert "TMPDIR" in finding.remedy


def test_a_machine_without_a_place_for_temporary_files_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", none)
    assert codes(tmp_path) == {"temporary_absent": Severity.ERROR}


def test_independent_problems_are_told_together(tmp_path: Path) -> None:
    found = codes(tmp_path, {"KINETIC_LOCAL_JOBS": "none"}, debug=True, storage="memory://store")
    assert set(found) == {"store_process_local", "debug_unsupported", "job_limit_invalid"}


def test_looking_makes_nothing(tmp_path: Path) -> None:
    codes(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_backend_asks_before_anything_is_uploaded_and_has_a_store_of_its_own(pod: ScriptedPod) -> None:
    options = RunOptions(accelerator="cpu", debug=True)
    surroundings = Surroundings(environ={}, home=pod.home, cwd=pod.folder, sys_path=())
    request = RunRequest(
        job_id="job-00000001", function=print, options=options, name="print", surroundings=surroundings
    )
    assert [finding.code for finding in pod.open().preflight(request)] == ["debug_unsupported"]
    assert pod.open().default_storage(options) == "file://~/.kinetic/store"


@pytest.mark.parametrize("wanted", ["3.99", "latest", "/no/such/python"])
def test_an_interpreter_that_cannot_run_the_job_is_an_error(tmp_path: Path, wanted: str) -> None:
    (finding,) = check(RunOptions(accelerator="cpu", python=wanted), Places(home=tmp_path), {"PATH": "/usr/bin"})
    assert (finding.code, finding.severity) == ("python_unusable", Severity.ERROR)
    assert f"python={wanted!r}" in finding.message
    assert "KINETIC_PYTHON" in finding.remedy


def test_a_store_that_the_jobs_own_packages_must_read_is_a_warning(tmp_path: Path) -> None:
    assert codes(tmp_path, storage="gs://bucket") == {}
    assert codes(tmp_path, storage="file:///store", isolation="venv") == {}
    assert codes(tmp_path, storage="gs://bucket", isolation="venv") == {"store_driver_needed": Severity.WARNING}


@pytest.mark.parametrize("limit", ["1", "0.5Mi", "16777215"])
def test_a_limit_in_which_no_interpreter_starts_is_an_error(tmp_path: Path, limit: str) -> None:
    assert codes(tmp_path, memory_limit=limit) == {"memory_limit_too_small": Severity.ERROR}


def test_limits_that_this_platform_cannot_set_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: dict[str, Any] = {"memory_limit": "2Gi", "cpu_time_limit": 1}
    assert codes(tmp_path, **said) == {}
    monkeypatch.setattr(sys, "platform", "darwin")
    assert codes(tmp_path, **said) == {"limits_ignored": Severity.WARNING}
    assert codes(tmp_path) == {}
