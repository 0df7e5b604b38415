"""`kinetic batches`: seeing to batches of another process, by their id alone."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.system.cli.conftest import Cli

SCRIPT = """
import sys, time
import kinetic


@kinetic.run(accelerator="cpu", backend="local")
def invert(x):
    return {"inverse": 1 / x}


@kinetic.run(accelerator="cpu", backend="local")
def rest(x):
    time.sleep(600)


if __name__ == "__main__":
    name, inputs = sys.argv[1:]
    batch = globals()[name].run_async_map(eval(inputs), max_concurrent=1, name="mine", tags=["a", "b"])
    print(batch.group_id)
"""
Start = Callable[[str, str], str]


@pytest.fixture
def start(project: Path, home: Path) -> Start:
    """Start a batch from a process that ends at once."""
    script = project / "some_batches.py"
    script.write_text(SCRIPT)
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}

    def start(name: str, inputs: str) -> str:
        ended = subprocess.run(
            [sys.executable, str(script), name, inputs],
            env={**kept, "HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    return start


def test_a_batch_is_listed_finished_and_shown(cli: Cli, start: Start) -> None:
    group_id = start("invert", "[1, 2, 4]")

    values = cli("batches", "result", group_id)
    again = json.loads(cli("batches", "result", group_id, "--json").stdout)
    listed = json.loads(cli("batches", "list", "--json").stdout)
    status = json.loads(cli("batches", "status", group_id, "--json").stdout)
    table = cli("batches", "list").stdout.splitlines()
    shown = cli("batches", "status", group_id).stdout

    assert (values.returncode, values.stdout) == (0, "{'inverse': 1.0}\n{'inverse': 0.5}\n{'inverse': 0.25}\n")
    assert [value["value"] for value in again["values"]] == [{"inverse": 1.0}, {"inverse": 0.5}, {"inverse": 0.25}]
    assert [(batch["group_id"], batch["name"], batch["inputs"], batch["tags"]) for batch in listed] == [
        (group_id, "mine", 3, ["a", "b"])
    ]
    assert status["counts"] == {"SUCCEEDED": 3}
    assert [(one["input"], one["status"], one["attempts"]) for one in status["input_states"]] == [
        (index, "SUCCEEDED", 1) for index in range(3)
    ]
    assert table[1].split()[:2] == [group_id, "mine"]
    assert "3 SUCCEEDED" in table[1]
    assert "tags         a, b\n" in shown
    assert shown.splitlines()[-1].split()[:4] == ["2", "SUCCEEDED", "1", status["input_states"][2]["job_id"]]


def test_a_failed_input_exits_with_1_and_is_named(cli: Cli, start: Start) -> None:
    group_id = start("invert", "[1, 0]")

    ended = cli("batches", "result", group_id, "--cleanup")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"kinetic: {group_id}: 1 of 2 inputs have no result\n")
    assert "input 1: ZeroDivisionError: division by zero" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert cli("batches", "status", group_id).returncode == 0


def test_a_batch_that_runs_is_cancelled_and_what_is_not_done_in_time_exits_with_1(cli: Cli, start: Start) -> None:
    group_id = start("rest", "[1, 2, 3]")

    late = cli("batches", "result", group_id, "--timeout", "0.1")
    cancelled = cli("batches", "cancel", group_id)
    ended = cli("batches", "result", group_id)

    assert (late.returncode, "0 of 3 inputs have ended; it goes on" in late.stderr) == (1, True)
    assert cancelled.stdout == f"{group_id}: 3 CANCELLED\n"
    assert ended.returncode == 1
    assert json.loads(cli("jobs", "list", "--json").stdout) == []


def test_collecting_with_cleanup_leaves_a_word_behind(cli: Cli, start: Start) -> None:
    group_id = start("invert", "[1]")

    first = cli("batches", "result", group_id, "--cleanup")
    second = cli("batches", "result", group_id)

    assert (first.returncode, second.returncode) == (0, 1)
    assert "were collected at" in second.stderr
    assert cli("batches", "list").stdout == "no batches\n"


@pytest.mark.parametrize("command", ["status", "result", "cancel"])
def test_an_id_that_does_not_exist_is_one_clean_line_naming_the_store(cli: Cli, command: str) -> None:
    ended = cli("batches", command, "batch-00000000")

    assert ended.returncode == 1
    assert ended.stderr.startswith("kinetic: no batch 'batch-00000000' in file://")
    assert len(ended.stderr.splitlines()) == 1


def test_a_wrong_id_is_helped_on(cli: Cli, start: Start) -> None:
    group_id = start("invert", "[1]")
    near = group_id[:-1] + ("0" if group_id[-1] != "0" else "1")

    assert f"did you mean '{group_id}'?" in cli("batches", "status", near).stderr
    assert "looks like batch-0a1b2c3d" in cli("batches", "status", "job-00000000").stderr
    assert "this is the id of a batch" in cli("jobs", "status", group_id).stderr
    assert cli("batches", "status").returncode == 2


def test_without_batches_the_list_says_so(cli: Cli) -> None:
    assert cli("batches", "list").stdout == "no batches\n"
    assert json.loads(cli("batches", "list", "--json").stdout) == []
