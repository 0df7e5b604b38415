import os
import stat
import tempfile
from pathlib import Path

import pytest

from kinetic_core.errors import ConfigError
from kinetic_local.places import Places, job_limit, local_path, make_private, private_name


@pytest.mark.parametrize("environ", [{}, {"KINETIC_LOCAL_JOBS": ""}, {"KINETIC_LOCAL_JOBS": " "}])
def test_one_job_a_core_is_the_default(environ: dict[str, str]) -> None:
    assert 1 <= job_limit(environ) <= (os.cpu_count() or 1)


def test_a_system_that_cannot_tell_the_cores_of_a_process_counts_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert job_limit({}) == os.cpu_count()


def test_a_limit_that_is_no_number_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"KINETIC_LOCAL_JOBS must be a whole number of 1 or more, got 'many'"):
        job_limit({"KINETIC_LOCAL_JOBS": "many"})


def test_folders_are_made_private_and_existing_ones_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    make_private(tmp_path / "open/a/b")
    make_private(tmp_path / "open/a/b")
    modes = [stat.S_IMODE((tmp_path / path).stat().st_mode) for path in ("open", "open/a", "open/a/b")]
    assert modes == [0o755, 0o700, 0o700]


def test_private_folders_lie_where_the_client_keeps_temporary_files(tmp_path: Path) -> None:
    names = [Path(private_name({"TMPDIR": str(tmp_path)})) for _ in range(2)]
    assert [name.parent for name in names] == [tmp_path, tmp_path]
    assert len({name.name for name in names}) == 2
    for environ in ({}, {"TMPDIR": str(tmp_path / "none")}):
        assert Path(private_name(environ)).parent == Path(tempfile.gettempdir())


def test_a_pod_lies_in_the_jobs_folder_where_that_is_on_this_machine(tmp_path: Path) -> None:
    places = Places(home=tmp_path)
    assert places.pod("job-1", "file:///store/ann/job-1") == Path("/store/ann/job-1/pod")
    assert places.pod("job-1", "gs://bucket/job-1") == tmp_path / ".kinetic/local/job-1"
    assert local_path("gs://bucket/job-1") == ""
