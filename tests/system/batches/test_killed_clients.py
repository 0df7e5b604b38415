"""A client may be killed at any moment: another process finishes its batch, loses no input and runs none twice."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fakes.project import Project
from tests.system.batches.conftest import Noted

INPUTS = 3
# Counts what the client does to store and backend, and kills it before or after the step of that number.
MORTAL = """
    import os, signal, threading
    from kinetic_fsspec.file import FileStorage
    from kinetic_local.backend import LocalBackend

    at, count, lock = int(os.environ["DIE_AT"]), 0, threading.Lock()

    def live_on():
        global count
        with lock:
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

    def mortal(kind, name):
        real = getattr(kind, name)
        def wrapped(self, *args, **kwargs):
            live_on()
            returned = real(self, *args, **kwargs)
            live_on()
            return returned
        setattr(kind, name, wrapped)

    for name in ("put_bytes", "put_file", "put_if_absent", "delete_prefix"):
        mortal(FileStorage, name)
    for name in ("submit", "submit_many", "cancel", "cleanup"):
        if hasattr(LocalBackend, name):
            mortal(LocalBackend, name)
"""
LIST = "[0, 1, 2]"
GENERATOR = "(x for x in range(3))"


def start(noted: Noted, inputs: str, die_at: int) -> tuple[int, str]:
    """Run a client that may be killed; return its exit code and what it printed."""
    code = f"""{MORTAL}
    import train
    batch = train.flaky.run_async_map({inputs}, retries=1, max_concurrent=2)
    batch.wait()
    print(count)
    """
    process = noted.project.start(code, environ={"DIE_AT": str(die_at)})
    out, err = process.communicate(timeout=120)
    assert process.returncode in (0, -9), err
    return process.returncode, out


def finish(noted: Noted, group_id: str) -> list[Any]:
    """Finish the batch in another process; return the values, or what is missing."""
    ended = noted.project.run(
        f"""
        import json, kinetic
        try:
            print(json.dumps(kinetic.attach_batch({group_id!r}).results(timeout=100, cleanup=False)))
        except kinetic.BatchError as error:
            print(json.dumps([str(error), error.partial_results]))
        """
    )
    said: list[Any] = ended.said
    return said


def check(noted: Noted, inputs: str, die_at: int) -> None:
    """Kill the client at a step, finish its batch, and see that each input has its value and no job ran twice."""
    code, _ = start(noted, inputs, die_at)
    groups = noted.group_ids()
    if not groups:
        assert code == -9
        assert not noted.inputs
        return
    said = finish(noted, groups[0])
    assert set(noted.job_ids.values()) <= {1}, (die_at, noted.job_ids)
    if said == [0, 2, 4]:
        assert noted.inputs == {"0": 1, "1": 2, "2": 1}, die_at
        return
    assert isinstance(said[0], str), (die_at, said)
    assert "the process that had them ended before it had taken the others" in said[0]
    taken = said[1]
    assert taken == [0, 2, 4][: len(taken)], (die_at, said)
    assert code == -9


def steps(noted: Noted, inputs: str) -> int:
    """Return how many steps a client makes that lives."""
    code, out = start(noted, inputs, 0)
    assert code == 0
    return int(out)


def kill_at_each(make: "Maker", inputs: str, stride: int) -> None:
    total = steps(make("alive"), inputs)
    assert total > 40
    # Over many runs every step is met; which ones are next, the run's seed says.
    first = random.randint(1, stride)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda at: check(make(f"killed-{at}"), inputs, at), range(first, total + 1, stride)))


class Maker:
    """Makes copies of one project, each with a home and a list of runs of its own."""

    def __init__(self, noted: Noted) -> None:
        self._noted = noted

    def __call__(self, name: str) -> Noted:
        copy = Noted(Project(self._noted.project.base / name))
        for path in self._noted.project.root.iterdir():
            copy.project.write(path.name, path.read_text().replace(str(self._noted.runs), str(copy.runs)))
        copy.runs.write_text("")
        return copy


@pytest.mark.parametrize("inputs", [LIST, GENERATOR], ids=["list", "generator"])
def test_a_client_killed_at_some_steps_leaves_a_batch_that_another_finishes(noted: Noted, inputs: str) -> None:
    kill_at_each(Maker(noted), inputs, 13)


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("inputs", [LIST, GENERATOR], ids=["list", "generator"])
def test_a_client_killed_at_any_step_leaves_a_batch_that_another_finishes(noted: Noted, inputs: str) -> None:
    kill_at_each(Maker(noted), inputs, 1)


def test_inputs_of_a_list_are_all_finished_though_the_client_dies_as_soon_as_it_has_them(noted: Noted) -> None:
    process = noted.project.start(
        """
        import os, signal, train
        train.double.run_async_map(range(7), max_concurrent=1)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    process.communicate(timeout=120)
    assert finish(noted, noted.group_ids()[0]) == [0, 2, 4, 6, 8, 10, 12]
    assert set(noted.inputs.values()) == {1}


def test_two_processes_that_drive_one_batch_start_nothing_twice(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, subprocess, sys, train
        batch = train.double.run_async_map(range(8), max_concurrent=2)
        code = "import kinetic, sys; print(kinetic.attach_batch(sys.argv[1]).results(cleanup=False))"
        other = subprocess.Popen([sys.executable, "-c", code, batch.group_id], stdout=subprocess.PIPE, text=True)
        values = batch.results(cleanup=False)
        print(json.dumps([values, json.loads(other.communicate()[0])]))
        """
    )
    assert ended.said == [[0, 2, 4, 6, 8, 10, 12, 14]] * 2
    assert set(noted.job_ids.values()) == {1}
    assert set(noted.inputs.values()) == {1}
