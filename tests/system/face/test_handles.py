"""Jobs outlive their client: handles open from other processes."""

import subprocess

import pytest

from tests.fakes.project import Project


def submit(project: Project, call: str) -> str:
    ended = project.run(f"import train; print(train.{call}.job_id)")
    return ended.out.strip()


def test_another_process_attaches_by_id_and_gets_the_value(project: Project) -> None:
    job_id = submit(project, "double.run_async(21)")
    assert project.run(f"import kinetic; print(kinetic.attach({job_id!r}).result())").said == 42


def test_a_collected_job_says_that_it_was_collected(project: Project) -> None:
    job_id = submit(project, "double.run_async(1)")
    project.run(f"import kinetic; kinetic.attach({job_id!r}).result()")
    ended = project.run(f"import kinetic; kinetic.attach({job_id!r}).result()", fails=True)
    assert f"the result of {job_id} was collected at" in ended.err
    assert project.stored_of_jobs() == [f"jobs/{job_id}"]


def test_the_same_handle_asked_twice_says_that_it_was_collected(project: Project) -> None:
    ended = project.run(
        """
        import kinetic, train
        handle = train.double.run_async(1)
        handle.result()
        try:
            handle.result()
        except kinetic.ResultUnavailableError as error:
            print("said", error)
        """
    )
    assert "was collected at" in ended.out


def test_a_result_kept_can_be_collected_again(project: Project) -> None:
    ended = project.run(
        """
        import json, train
        handle = train.double.run_async(1)
        print(json.dumps([handle.result(cleanup=False), handle.result()]))
        """
    )
    assert ended.said == [2, 2]


def test_a_failed_job_keeps_its_artifacts(project: Project) -> None:
    job_id = submit(project, "fail.run_async('x')")
    ended = project.run(f"import kinetic; kinetic.attach({job_id!r}).result()", fails=True)
    assert "helper.Mishap: x" in ended.err
    assert f"{job_id}/payload.pkl" in project.stored()


def test_an_unknown_id_names_the_store_that_was_searched(project: Project) -> None:
    ended = project.run("import kinetic; kinetic.attach('job-00000000')", fails=True)
    assert f"no job 'job-00000000' in file://{project.store}" in ended.err


def test_status_logs_and_tail_are_seen_from_elsewhere(project: Project) -> None:
    job_id = submit(project, "double.run_async(3)")
    ended = project.run(
        f"""
        import json, kinetic
        handle = kinetic.attach({job_id!r})
        print(json.dumps([handle.wait(), handle.status(), handle.logs(), handle.tail(1), handle.func_name]))
        """
    )
    waited, status, logs, tail, name = ended.said
    assert (waited, status, name) == ("SUCCEEDED", "SUCCEEDED", "double")
    assert "doubling 3\n" in logs
    assert logs.endswith(tail)
    assert tail.count("\n") <= 1


def test_a_cancelled_job_is_cancelled_for_everybody(project: Project) -> None:
    marker = project.base / "marker"
    job_id = submit(project, f"slow.run_async({str(marker)!r})")
    ended = project.run(
        f"""
        import itertools, kinetic, pathlib, time
        for _ in range(1200):
            if pathlib.Path({str(marker)!r}).exists(): break
            time.sleep(0.05)
        handle = kinetic.attach({job_id!r})
        handle.cancel()
        handle.cancel()
        try:
            handle.result()
        except kinetic.JobCancelledError as error:
            print(error)
        """
    )
    assert f"{job_id} (slow) was cancelled" in ended.out
    assert project.run(f"import kinetic; print(kinetic.attach({job_id!r}).status())").out.strip() == "CANCELLED"


def test_a_timeout_leaves_the_job_running_and_the_handle_valid(project: Project) -> None:
    marker = project.base / "marker"
    ended = project.run(
        f"""
        import kinetic, train
        handle = train.slow.run_async({str(marker)!r})
        try:
            handle.result(timeout=0.2)
        except TimeoutError as error:
            print(type(error).__name__)
        print(handle.status() in ("PENDING", "RUNNING"))
        print([live.job_id for live in kinetic.list_jobs()] == [handle.job_id])
        handle.cancel()
        handle.cleanup()
        handle.cleanup()
        """
    )
    assert ended.out.splitlines() == ["ResultTimeoutError", "True", "True"]
    assert project.stored_of_jobs() == []


def test_a_handle_survives_json_and_pickling(project: Project) -> None:
    ended = project.run(
        """
        import json, kinetic, pickle, train
        raw = json.loads(json.dumps(train.double.run_async(5).to_dict() | {"later": 1}))
        handle = pickle.loads(pickle.dumps(kinetic.JobHandle.from_dict(raw)))
        print(json.dumps([handle.result(), handle.to_dict()["later"]]))
        """
    )
    assert ended.said == [10, 1]


@pytest.mark.parametrize("again", [False, True])
def test_ctrl_c_leaves_the_job_running_and_says_how_to_go_on(project: Project, *, again: bool) -> None:
    import signal
    import time

    marker = project.base / "marker"
    # A shell starts what runs in its background deaf to Ctrl-C.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    process = project.start(f"{listen}; import train; train.slow({str(marker)!r})")
    while not marker.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    said = next(line for line in process.stderr if "goes on" in line)
    if again:
        # Whatever it still does then, it leaves.
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    job_id = said.split()[1]
    assert f"kinetic.attach('{job_id}').cancel()" in said
    ended = project.run(f"""
        import kinetic
        handle = kinetic.attach({job_id!r})
        print(handle.status())
        handle.cancel()
    """)
    assert ended.out.strip() == "RUNNING"


def test_status_changes_are_told_once_each(project: Project) -> None:
    ended = project.run(
        """
        import json, train
        seen = []
        train.double.run_async(1).result(on_status_change=lambda status: seen.append(str(status)))
        print(json.dumps(seen))
        """
    )
    assert ended.said[-1] == "SUCCEEDED"
    assert len(set(ended.said)) == len(ended.said)


def test_no_process_is_left_when_jobs_have_ended(project: Project) -> None:
    job_id = submit(project, "double.run_async(1)")
    project.run(f"import kinetic; kinetic.attach({job_id!r}).result()")
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert job_id not in listed
