"""A decorated function on a cluster: out through the API server into a pod, and home through the store."""

import json
import sys
from pathlib import Path

import pytest

from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.waiting import Room, until
from tests.fakes.project import Project
from tests.fakes.servers.stores import CLOUDS
from tests.system.gke.conftest import Bucket


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    made.write(
        "train.py",
        """
        import kinetic
        import helper

        @kinetic.run(accelerator="cpu", container_image="prebuilt")
        def double(x):
            print(f"doubling {x}")
            return helper.twice(x)

        @kinetic.run(accelerator="cpu", container_image="python:3.12-slim")
        def fail(text):
            raise helper.Mishap(text)

        @kinetic.run(accelerator="cpu", container_image="prebuilt", secrets=["TOKEN"])
        def hidden():
            import os
            return os.environ["TOKEN"][::-1]

        @kinetic.run(accelerator="cpu", container_image="prebuilt")
        def vanish():
            import os
            print("last words", flush=True)
            os._exit(3)
        """,
    )
    made.write("helper.py", "class Mishap(Exception): pass\n\ndef twice(x): return 2 * x\n")
    return made


def test_a_value_and_the_log_come_home_and_nothing_is_left(
    project: Project, environ: dict[str, str], room: Room
) -> None:
    ended = project.run("import json, train; print(json.dumps(train.double(4)))", environ=environ)
    assert ended.said == 8
    assert "doubling 4\n" in ended.out
    assert room.plain(room.batch.list_namespaced_job(room.namespace))["items"] == []


def test_an_exception_comes_home_as_itself_from_an_image_that_has_only_python(
    project: Project, environ: dict[str, str]
) -> None:
    environ["KINETIC_GKE_RUNNER_IMAGE"] = "registry.example/runner:1"
    ended = project.run(
        """
        import helper, train
        try:
            train.fail("too hot")
        except helper.Mishap as error:
            assert "helper.Mishap(text)" in str(error.__notes__)
            print('"' + str(error) + '"')
        """,
        environ=environ,
    )
    assert ended.said == "too hot"


def test_an_image_that_has_only_python_gets_the_runner_from_another(
    project: Project, environ: dict[str, str], healed: Cluster, tmp_path: Path
) -> None:
    bare = tmp_path / "bare" / "python3"
    bare.parent.mkdir()
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    healed.bring("^python:", programs=bare.parent)
    project.write(
        "alone.py",
        """
        import kinetic

        @kinetic.run(accelerator="cpu", container_image="python:3.12-slim")
        def looked():
            from importlib.util import find_spec
            return [find_spec(name) is not None for name in ("kinetic_runner", "kinetic", "attrs", "kubernetes")]
        """,
    )
    environ["KINETIC_GKE_RUNNER_IMAGE"] = "registry.example/runner:1"
    ended = project.run("import json, alone; print(json.dumps(alone.looked()))", environ=environ)
    assert ended.said == [True, False, False, False]


def test_a_secret_is_the_functions_and_stands_in_no_manifest(
    project: Project, environ: dict[str, str], room: Room
) -> None:
    code = "import json, train; handle = train.hidden.run_async(); print(json.dumps(handle.result(cleanup=False)))"
    assert project.run(code, environ={**environ, "TOKEN": "s3cr3t"}).said == "t3rc3s"
    (job,) = room.plain(room.batch.list_namespaced_job(room.namespace))["items"]
    (secret,) = room.plain(room.core.list_namespaced_secret(room.namespace))["items"]
    assert "s3cr3t" not in json.dumps([job, room.pods(job["metadata"]["name"])])
    assert secret["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]


def test_a_job_without_a_result_says_how_it_ended_with_its_last_lines(
    project: Project, environ: dict[str, str]
) -> None:
    ended = project.run("import train; train.vanish.run_async().result()", environ=environ, fails=True)
    assert "exited with code 3" in ended.err
    assert "last words" in ended.err


def test_nothing_is_uploaded_for_a_job_that_the_cluster_would_not_take(
    project: Project, environ: dict[str, str], tmp_path: Path
) -> None:
    code = "import train; train.double.options(namespace='nowhere')(5)"
    ended = project.run(code, environ=environ, fails=True)
    assert "PreflightError" in ended.err
    assert "there is no namespace 'nowhere'" in ended.err
    assert [path for path in (tmp_path / "store").rglob("*") if path.is_file()] == []


def test_another_process_attaches_to_a_job_and_takes_its_value(project: Project, environ: dict[str, str]) -> None:
    first = project.run("import json, train; print(json.dumps(train.double.run_async(5).job_id))", environ=environ)
    code = f"import json, kinetic; print(json.dumps(kinetic.attach({first.said!r}).result(timeout=60)))"
    assert project.run(code, environ=environ).said == 10


def test_pods_read_and_write_a_bucket(
    project: Project, environ: dict[str, str], healed: Cluster, bucket: Bucket
) -> None:
    # What a pod of this cluster may not do: ask a cloud who it is.
    healed.bring("", env={"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false", "NO_GCE_CHECK": "true"})
    told = {**environ, "KINETIC_STORAGE": bucket.url, **CLOUDS["gs"].configured(bucket.address)}
    told |= {"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false", "NO_GCE_CHECK": "true"}
    ended = project.run("import json, train; print(json.dumps(train.double(6)))", environ=told)
    assert ended.said == 12


def test_a_job_that_its_time_to_live_has_taken_is_its_result(
    project: Project, environ: dict[str, str], room: Room
) -> None:
    told = {**environ, "KINETIC_GKE_TTL": "1"}
    first = project.run("import json, train; print(json.dumps(train.double.run_async(5).job_id))", environ=told)
    until(lambda: room.plain(room.batch.list_namespaced_job(room.namespace))["items"] == [])
    code = f"import json, kinetic; print(json.dumps(kinetic.attach({first.said!r}).result(timeout=60)))"
    assert project.run(code, environ=told).said == 10


def test_a_batch_and_lists_are_seen_from_the_command_line(project: Project, environ: dict[str, str]) -> None:
    code = """
        import json, kinetic, train
        handle = train.double.run_async(5)
        handle.wait()
        print(json.dumps([handle.to_dict()["ref"]["namespace"], [str(job.status()) for job in kinetic.list_jobs()]]))
    """
    namespace, live = project.run(code, environ=environ).said
    assert namespace == environ["KINETIC_NAMESPACE"]
    assert live == []


def test_a_list_says_that_a_cluster_did_not_answer(
    project: Project, environ: dict[str, str], healed: Cluster, room: Room
) -> None:
    healed.fail_requests(method="GET", path=f"{room.namespace}/jobs", status=401)
    ended = project.run("import json, kinetic; print(json.dumps(len(kinetic.list_jobs())))", environ=environ)
    assert ended.said == 0
    assert "kinetic: jobs of the backend 'gke' are not among these: the cluster" in ended.err
    assert "log in again" in ended.err


def test_a_blocking_call_says_why_it_waits_and_how_to_come_back_when_the_cluster_lets_it_down(
    project: Project, environ: dict[str, str], healed: Cluster, room: Room
) -> None:
    healed.fail_pods("unschedulable")
    process = project.start("import train; train.double(4)", environ=environ)
    assert process.stderr is not None
    told = next(line for line in process.stderr if line.startswith("kinetic: job-") and "does not run yet" in line)
    assert "no node has room for it: 0/3 nodes are available" in told
    healed.fail_requests(method="GET", path=f"{room.namespace}/", status=401)
    healed.act("cut-watches")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    job_id = told.split()[1]
    assert "log in again" in err
    assert f"while waiting for {job_id} (double), which goes on; attach to it with kinetic.attach('{job_id}')" in err
