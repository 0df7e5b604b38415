import attrs

from kinetic_core.model.job import JobSpec, StagedArtifact
from kinetic_core.model.request import RunOptions
from kinetic_local.command import runner_command
from kinetic_local.environment import passing, runner_environ, store_access


def spec(**secrets: str) -> JobSpec:
    artifact = StagedArtifact(url="file:///store/context.zip", sha256="ab" * 32, size_bytes=1)
    return JobSpec(
        job_id="job-0a1b2c3d",
        name="train",
        options=RunOptions(accelerator="cpu"),
        context=artifact,
        payload=artifact,
        result_url="file:///store/result.pkl",
        job_url="file:///store",
        output_dir="file:///store/outputs",
        secrets=secrets,
    )


def test_only_what_is_on_the_list_passes() -> None:
    unwanted = (
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "KINETIC_BACKEND",
        "LD_PRELOAD",
        "AWS_SECRET_ACCESS_KEY",
        "PWD",
    )
    wanted = (
        "KINETIC_LOG_LEVEL",
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TZ",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "LD_LIBRARY_PATH",
    )
    assert set(passing(dict.fromkeys([*unwanted, *wanted], "x"))) == set(wanted)


def test_the_runner_is_told_about_its_job() -> None:
    environ = runner_environ(spec(), {"PATH": "/bin", "KINETIC_ALLOWED_SERIALIZATION": "json"})
    assert environ == {
        "PATH": "/bin",
        "PYTHONUNBUFFERED": "1",
        "KINETIC_JOB_ID": "job-0a1b2c3d",
        "KINETIC_OUTPUT_DIR": "file:///store/outputs",
        "KINETIC_HOST_INDEX": "0",
        "KINETIC_NUM_HOSTS": "1",
    }


def test_a_secret_wins_over_the_clients_variable_and_not_over_the_jobs_own() -> None:
    environ = runner_environ(spec(HOME="/secret", KINETIC_JOB_ID="forged"), {"HOME": "/home"})
    assert environ["HOME"] == "/secret"
    assert environ["KINETIC_JOB_ID"] == "job-0a1b2c3d"


def test_the_command_line_holds_addresses_and_hashes_only() -> None:
    command = runner_command(spec(TOKEN="s3cr3t"))
    assert command[1:4] == ["-P", "-m", "kinetic_runner"]
    assert not any("s3cr3t" in part for part in command)
    options = dict(zip(command[4::2], command[5::2], strict=False))
    assert options["--context"] == options["--payload"] == "file:///store/context.zip"
    assert options["--context-sha256"] == options["--payload-sha256"] == "ab" * 32
    assert options["--result"] == "file:///store/result.pkl"
    assert options["--allowed-serialization"] == "json,pickle"
    assert command[-1] == "--no-working-dir-link"


def test_a_job_is_told_how_its_store_is_reached_and_nothing_of_other_stores() -> None:
    environ = {"AWS_SECRET_ACCESS_KEY": "a", "AZURE_CLIENT_SECRET": "b", "FSSPEC_S3": "{}", "PATH": "/bin"}
    options = {"s3": {"endpoint_url": "https://s3.example.org"}}
    on_s3 = attrs.evolve(spec(), job_url="s3://bucket/job")
    assert store_access(on_s3, environ, options) == {
        "AWS_SECRET_ACCESS_KEY": "a",
        "FSSPEC_S3": '{"endpoint_url": "https://s3.example.org"}',
    }
    assert store_access(spec(), environ, {}) == {}
