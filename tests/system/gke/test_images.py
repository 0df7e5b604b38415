"""Images of jobs: from the decorator through the services that build them to the pod that runs in one."""

import json
import signal
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetic_gke.building.recipe import DEPENDENCIES
from tests.fakes.google.server import Google, running_google, until_asked
from tests.fakes.kube.waiting import Room, until
from tests.fakes.project import Project

BUILDS = "POST /v1/projects/acme/builds"
POLL = "GET /v1/projects/acme/builds/"


@pytest.fixture
def google(tmp_path: Path) -> Iterator[Google]:
    with running_google(tmp_path / "google") as running:
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("requirements.txt", "numpy>=2  # fast\njax[tpu]\n")
    made.write(
        "train.py",
        """
        import kinetic

        @kinetic.run(accelerator="cpu")
        def double(x):
            return 2 * x

        @kinetic.run(accelerator="cpu", container_image="bundled", project="other", zone="europe-west4-b")
        def elsewhere(x):
            return 2 * x
        """,
    )
    return made


@pytest.fixture
def environ(room: Room, kubeconfig: Path, tmp_path: Path, google: Google) -> dict[str, str]:
    (context,) = json.loads(kubeconfig.read_text(encoding="utf-8"))["contexts"]
    return {
        **google.environ(),
        "KINETIC_BACKEND": "gke",
        "KINETIC_GKE_CONTEXT": context["name"],
        "KINETIC_NAMESPACE": room.namespace,
        "KINETIC_PROJECT": "acme",
        "KINETIC_STORAGE": f"file://{tmp_path}/store",
        "KUBECONFIG": str(kubeconfig),
        "no_proxy": "127.0.0.1",
    }


def images(room: Room) -> list[str]:
    """Return the images of the namespace's jobs, in whichever order."""
    jobs = room.plain(room.batch.list_namespaced_job(room.namespace))["items"]
    return [job["spec"]["template"]["spec"]["containers"][0]["image"] for job in jobs]


def test_a_job_runs_in_an_image_that_was_built_for_it_and_a_second_one_in_the_same(
    project: Project, environ: dict[str, str], google: Google, room: Room
) -> None:
    code = "import json, train; print(json.dumps(train.double.run_async(4).result(cleanup=False)))"
    assert project.run(code, environ=environ).said == 8
    assert project.run(code, environ=environ).said == 8
    (build,) = google.builds.made
    assert images(room) == build.raw["images"] * 2
    with tarfile.open(build.context) as context:
        listed = context.extractfile(DEPENDENCIES)
        assert listed is not None
        assert listed.read() == b"numpy>=2\n"
    (job, _) = room.plain(room.batch.list_namespaced_job(room.namespace))["items"]
    pod = job["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsUser"] == 65532
    assert "initContainers" not in pod
    assert "--requirements" not in pod["containers"][0]["args"]


def test_the_argument_says_where_it_is_built(
    project: Project, environ: dict[str, str], google: Google, room: Room
) -> None:
    code = "import train; train.elsewhere.run_async(4).result(cleanup=False)"
    project.run(code, environ=environ)
    (image,) = images(room)
    assert image.startswith("europe-west4-docker.pkg.dev/other/kinetic/bundled-cpu:")


def test_the_upload_does_not_wait_for_the_build(
    project: Project, environ: dict[str, str], google: Google, room: Room, tmp_path: Path
) -> None:
    google.builds.may_run.clear()
    process = project.start("import json, train; print(json.dumps(train.double(4)))", environ=environ)
    until_asked(google, BUILDS)
    until(lambda: list((tmp_path / "store").rglob("payload.pkl")))
    assert images(room) == []
    google.builds.may_run.set()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out.splitlines()[-1:]) == (0, ["8"]), err


def test_a_build_that_fails_fails_the_submission_and_nothing_stays(
    project: Project, environ: dict[str, str], google: Google, room: Room, tmp_path: Path
) -> None:
    google.builds.trouble = "ERROR: No matching distribution found for nunpy"
    ended = project.run("import train; train.double(4)", environ=environ, fails=True)
    assert "kinetic_core.errors.SubmissionError: the image us-central1-docker.pkg.dev/acme/" in ended.err
    assert "ERROR: No matching distribution found for nunpy\n" in ended.err
    assert "while submitting, at the step 'make image'" in ended.err
    assert list((tmp_path / "store").rglob("payload.pkl")) == []
    assert images(room) == []


def test_nothing_is_asked_of_google_for_a_job_that_cannot_run(
    project: Project, environ: dict[str, str], google: Google
) -> None:
    project.write("requirements.txt", "-e .\n")
    ended = project.run("import train; train.double(4)", environ=environ, fails=True)
    assert "points at a local path" in ended.err
    assert google.requests == []


def test_without_a_project_the_first_check_says_so(
    project: Project, environ: dict[str, str], google: Google, tmp_path: Path
) -> None:
    del environ["KINETIC_PROJECT"]
    ended = project.run("import train; train.double(4)", environ=environ, fails=True)
    assert "no project is named to build it in: set project= or KINETIC_PROJECT" in ended.err
    assert "at the step 'preflight'" in ended.err
    assert list((tmp_path / "store").rglob("*")) == []


def test_without_credentials_the_first_check_says_so(
    project: Project, environ: dict[str, str], google: Google, tmp_path: Path
) -> None:
    del environ["GOOGLE_APPLICATION_CREDENTIALS"]
    ended = project.run("import train; train.double(4)", environ=environ, fails=True)
    assert "there are no Google credentials for that: log in with gcloud auth" in ended.err
    assert "at the step 'preflight'" in ended.err
    assert list((tmp_path / "store").rglob("*")) == []


def test_whoever_does_not_want_to_wait_for_a_build_takes_the_upload_back(
    project: Project, environ: dict[str, str], google: Google, room: Room, tmp_path: Path
) -> None:
    google.builds.may_run.clear()
    process = project.start("import train; train.double(4)", environ=environ)
    until(lambda: list((tmp_path / "store").rglob("payload.pkl")))
    asked = sum(one.startswith(POLL) for one in google.requests)
    until_asked(google, POLL, times=asked + 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert list((tmp_path / "store").rglob("payload.pkl")) == []
    assert images(room) == []


def test_all_jobs_of_a_batch_run_in_one_image_whichever_process_goes_on_with_it(
    project: Project, environ: dict[str, str], google: Google, room: Room
) -> None:
    code = """
        import json, os, kinetic, train
        batch = kinetic.map(train.double, [1, 2, 3], max_concurrent=1)
        print(json.dumps(batch.group_id), flush=True)
        os._exit(0)
    """
    group = project.run(code, environ=environ).said
    code = f"""
        import json, kinetic
        print(json.dumps(kinetic.attach_batch({group!r}).results(cleanup=False)))
    """
    assert project.run(code, environ=environ).said == [2, 4, 6]
    (build,) = google.builds.made
    assert set(images(room)) == set(build.raw["images"])
