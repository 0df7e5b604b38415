"""Many threads and several processes at once: everybody gets a value or a clear word, and nobody waits for ever."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.project import Ended, Project

COLLECT = """
    import json, os, pathlib, sys, time
    import kinetic
    handle = kinetic.attach({job_id!r})
    pathlib.Path({ready!r}).touch()
    while not pathlib.Path({go!r}).exists():
        time.sleep(0.001)
    try:
        print(json.dumps(["value", handle.result({options})]))
    except kinetic.KineticError as error:
        print(json.dumps([type(error).__name__, str(error)]))
"""


def test_64_threads_submit_and_collect_at_once(project: Project) -> None:
    ended = project.run("""
        import faulthandler, json, threading, train
        faulthandler.dump_traceback_later(200, exit=True)
        values, errors = {}, []
        begin = threading.Barrier(64)
        def one(number):
            try:
                begin.wait()
                values[number] = train.double(number)
            except BaseException as error:
                errors.append(f"{number}: {type(error).__name__}: {error}")
        threads = [threading.Thread(target=one, args=(number,)) for number in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        faulthandler.cancel_dump_traceback_later()
        print()
        print(json.dumps([errors, sorted(values.items())]))
    """)
    errors, values = ended.said
    assert errors == []
    assert values == [[number, 2 * number] for number in range(64)]
    # Each log line of each job came once, and in one piece.
    shown = [line for line in ended.out.splitlines() if line.startswith("doubling ")]
    assert sorted(shown) == sorted(f"doubling {number}" for number in range(64))
    # Each has collected its own and nobody else's.
    assert [name for name in project.stored_of_jobs() if not name.startswith("jobs/")] == []


def test_64_threads_ask_one_handle_for_its_value(project: Project) -> None:
    ended = project.run("""
        import faulthandler, json, threading, kinetic, train
        faulthandler.dump_traceback_later(200, exit=True)
        handle = train.double.run_async(21)
        said = []
        def one():
            try:
                said.append(["value", handle.result()])
            except kinetic.KineticError as error:
                said.append([type(error).__name__, str(error)])
        threads = [threading.Thread(target=one) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(said))
    """)
    assert len(ended.said) == 64
    assert_clear(ended.said)
    assert ["value", 42] in ended.said


def collected_by_two(project: Project, tmp_path: Path, *, options: str = "") -> tuple[str, list[Any]]:
    """Let two processes collect one job at the same moment, and return its id and what each was told."""
    job_id = project.run("import json, train; print(json.dumps(train.double.run_async(21).job_id))").said
    go = tmp_path / "go"
    ready = [tmp_path / f"ready-{number}" for number in range(2)]
    running = [
        project.start(COLLECT.format(job_id=job_id, ready=str(one), go=str(go), options=options)) for one in ready
    ]
    project.run(f"""
        import pathlib, time
        while not all(pathlib.Path(one).exists() for one in {[str(one) for one in ready]!r}):
            time.sleep(0.001)
        pathlib.Path({str(go)!r}).touch()
    """)
    said = []
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        said.append(Ended(out=out, err=err, code=0).said)
    return job_id, said


def assert_clear(said: list[Any]) -> None:
    for kind, told in said:
        if kind == "value":
            assert told == 42
        else:
            assert kind == "ResultUnavailableError"
            assert "was collected at" in told


def test_two_processes_collect_one_job_and_nothing_is_left_but_its_tombstone(project: Project, tmp_path: Path) -> None:
    job_id, said = collected_by_two(project, tmp_path)
    assert_clear(said)
    assert ["value", 42] in said
    tombstone = json.loads((project.store / "jobs" / job_id).read_text())
    assert "collected_at" in tombstone
    assert project.stored_of_jobs() == [f"jobs/{job_id}"]


def test_two_processes_that_keep_the_job_both_get_its_value(project: Project, tmp_path: Path) -> None:
    _, said = collected_by_two(project, tmp_path, options="cleanup=False")
    assert said == [["value", 42], ["value", 42]]


def test_one_process_keeps_what_another_cleans_up(project: Project, tmp_path: Path) -> None:
    job_id, said = collected_by_two(project, tmp_path, options="cleanup=os.getpid() % 2 == 0")
    assert_clear(said)
    assert json.loads((project.store / "jobs" / job_id).read_text())
