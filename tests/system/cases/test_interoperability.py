"""Artifacts of this project under another runner, those of another client under this one, and results both ways."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.wire.result import read_result
from tests.architecture.source import ROOT
from tests.fakes import original_runner
from tests.fakes.project import Project

CLIENT_ROOT = "/home/ann/proj"
PLAN = {"package_root": CLIENT_ROOT, "entry_rel": "", "client_cwd_rel": "", "sys_path_rel": ["", "src"]}
PAYLOAD = {
    "env_vars": {"COLOUR": "blue"},
    "has_data_refs": False,
    "client_fingerprint": {"python": platform.python_version(), "cloudpickle": "3.1.2", "kinetic": "0.0.3"},
    "working_dir": "/",
    **PLAN,
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    made.write("helper.py", "RATE = 3\ndef times(x):\n    return RATE * x\n")
    made.write("src/lazy.py", "WORD = 'late'\n")
    made.write("conf/run.json", '{"steps": 7}')
    made.write("data/a.txt", "A")
    made.write(
        "train.py",
        """
        import json, os, pathlib
        import kinetic
        import helper

        class Model:
            def __init__(self, weight):
                self.weight = weight

        @kinetic.run(accelerator="cpu", capture_env_vars=["COLOUR"])
        def train(x, cfg, *, extra):
            import lazy
            steps = json.loads(pathlib.Path("conf/run.json").read_text())["steps"]
            data = pathlib.Path(cfg["dir"])
            return [helper.times(x), steps, lazy.WORD, data.joinpath("a.txt").read_text(), cfg["pair"][1],
                    pathlib.Path(extra[0]).read_text(), os.environ["COLOUR"], bool(os.environ["KINETIC_OUTPUT_DIR"])]

        @kinetic.run(accelerator="cpu")
        def fail(x):
            raise ValueError(f"bad {x}")
        """,
    )
    return made


def other_runner(job: Path) -> tuple[int, Path]:
    """Run a job's stored artifacts under the other runner; return its exit code and its result."""
    result = job / "theirs.pkl"
    ran = subprocess.run(
        [
            *(sys.executable, "-P", original_runner.__file__),
            *("--context-gcs", f"file://{job}/context.zip"),
            *("--payload-gcs", f"file://{job}/payload.pkl"),
            *("--result-gcs", f"file://{result}"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=job,
        env={"PATH": os.environ["PATH"]},
        timeout=60,
    )
    assert result.exists(), ran.stderr
    return ran.returncode, result


def test_a_job_of_ours_runs_under_the_other_runner_and_its_record_is_read_by_both(project: Project) -> None:
    ended = project.run(
        """
        import json, sys
        sys.path.insert(1, "src")
        import kinetic, train
        data = kinetic.Data("data")
        handles = [
            train.train.run_async(2, {"dir": data, "pair": (data, 5)}, extra=[kinetic.Data("data/a.txt")]),
            train.fail.run_async(4),
        ]
        value = handles[0].result(cleanup=False)
        handles[1].wait()
        print(json.dumps([value, [handle.to_dict()["folder"] for handle in handles]]))
        """,
        # Another runner knows no layers: its backend does not announce them, and then artifacts lie as they do here.
        environ={"COLOUR": "blue", "KINETIC_CACHE": "off"},
    )
    value, (trained, failed) = ended.said
    assert value == [6, 7, "late", "A", 5, "A", "blue", True]
    for folder, code in ((trained, 0), (failed, 1)):
        job = project.store / folder
        ours = original_runner.read_result(job / "result.pkl")
        assert other_runner(job)[0] == code
        theirs = read_result(original_runner.read_result(job / "theirs.pkl"))
        assert (theirs.success, theirs.result) == (ours["success"], ours["result"])
        assert repr(theirs.exception) == repr(ours["exception"])


def test_each_input_of_a_batch_of_ours_runs_under_the_other_runner(project: Project) -> None:
    ended = project.run(
        """
        import json, sys
        sys.path.insert(1, "src")
        import kinetic, train
        data = kinetic.Data("data")
        batch = train.train.run_async_map(
            [{"x": x, "cfg": {"dir": data, "pair": (data, 5)}, "extra": [kinetic.Data("data/a.txt")]} for x in (1, 2)]
        )
        failing = train.fail.run_async_map([4])
        failing.wait()
        print(json.dumps([batch.results(cleanup=False), batch.group_id, failing.group_id]))
        """,
        environ={"COLOUR": "blue"},
    )
    values, *groups = ended.said
    assert values == [[x, 7, "late", "A", 5, "A", "blue", True] for x in (3, 6)]
    for group_id, index, code in ((groups[0], 0, 0), (groups[0], 1, 0), (groups[1], 0, 1)):
        folder = project.store / group_id
        job = folder / "jobs" / f"{index}-1"
        (job / "payload.pkl").hardlink_to(folder / "payloads" / f"{index}.pkl")
        (job / "context.zip").hardlink_to(folder / "context.zip")
        ours = original_runner.read_result(job / "result.pkl")
        assert other_runner(job)[0] == code
        theirs = read_result(original_runner.read_result(job / "theirs.pkl"))
        assert (theirs.success, theirs.result) == (ours["success"], ours["result"])
        assert repr(theirs.exception) == repr(ours["exception"])


def ours(folder: Path, arguments: list[str], **environ: str) -> tuple[int, str]:
    """Run a job of the other client under our runner."""
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "kinetic_runner", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), **environ},
        timeout=60,
    )
    return ran.returncode, ran.stderr


def function(body: str) -> Any:
    """Return a function of the other client's main script."""
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": f"{CLIENT_ROOT}/train.py"}
    exec(compile(f"def f(*args, **kwargs):\n    {body}\n", f"{CLIENT_ROOT}/train.py", "exec"), namespace)
    return namespace["f"]


def test_a_job_of_the_other_client_runs_here_by_the_other_names_of_the_flags(tmp_path: Path) -> None:
    body = "import os, lazy; return args, kwargs, lazy.WORD, os.environ['COLOUR'], os.path.exists('here.txt')"
    payload = {"func": function(body), "args": (1,), "kwargs": {"b": [2]}, **PAYLOAD}
    files = {"src/lazy.py": "WORD = 'late'\n", "here.txt": ""}
    code, err = ours(tmp_path, original_runner.write_job(tmp_path, payload, files, plan=PLAN))
    assert code == 0, err
    record = original_runner.read_result(tmp_path / "result.pkl")
    assert record["result"] == ((1,), {"b": [2]}, "late", "blue", True)


@pytest.mark.parametrize("lacking", ["env_vars", "has_data_refs", "client_fingerprint", "working_dir", "sys_path_rel"])
def test_a_payload_that_lacks_a_key_beyond_the_call_runs(tmp_path: Path, lacking: str) -> None:
    payload = {"func": function("return args"), "args": (1,), "kwargs": {}, **PAYLOAD}
    del payload[lacking]
    code, err = ours(tmp_path, original_runner.write_job(tmp_path, payload, {}, plan=None))
    assert code == 0, err
    assert "has no packaging plan" in err
    assert original_runner.read_result(tmp_path / "result.pkl")["result"] == (1,)


def test_every_dict_of_the_shape_is_a_reference_where_the_payload_lists_none(tmp_path: Path) -> None:
    tmp_path.joinpath("data").mkdir()
    tmp_path.joinpath("data/a.txt").write_text("A")
    reference = {"__data_ref__": True, "uri": f"file://{tmp_path}/data/", "is_dir": True}
    reference |= {"mount_path": None, "fuse": False, "hf_trust_remote_code": False}
    body = "import pathlib; return [pathlib.Path(one, 'a.txt').read_text() for one in args[0]['deep']]"
    payload = {"func": function(body), "args": ({"deep": [reference, dict(reference)]},), "kwargs": {}, **PAYLOAD}
    payload["has_data_refs"] = True
    code, err = ours(tmp_path, original_runner.write_job(tmp_path, payload, {}, plan=PLAN | {"sys_path_rel": [""]}))
    assert code == 0, err
    assert original_runner.read_result(tmp_path / "result.pkl")["result"] == ["A", "A"]


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("raise KeyError('k')", KeyError, "'k'"),
        ("raise KeyboardInterrupt('stop')", RuntimeError, "function raised KeyboardInterrupt: stop"),
        ("import sys; sys.exit(3)", RuntimeError, "function called sys.exit(3)"),
        ("import threading; return threading.Lock()", TypeError, "pickle"),
    ],
)
def test_a_failure_here_is_a_record_that_the_other_client_reads(
    tmp_path: Path, body: str, kind: type[Exception], text: str
) -> None:
    payload = {"func": function(body), "args": (), "kwargs": {}, **PAYLOAD}
    arguments = original_runner.write_job(tmp_path, payload, {"train.py": ""}, plan=PLAN | {"sys_path_rel": [""]})
    assert ours(tmp_path, arguments)[0] == 1
    record = original_runner.read_result(tmp_path / "result.pkl")
    assert type(record["exception"]) is kind
    assert text in str(record["exception"])


def test_the_requirements_flag_has_the_other_name_too(tmp_path: Path) -> None:
    tmp_path.joinpath("requirements.txt").write_text("# nothing\n")
    payload = {"func": function("return 1"), "args": (), "kwargs": {}, **PAYLOAD}
    arguments = original_runner.write_job(tmp_path, payload, {}, plan=json.loads(json.dumps(PLAN)))
    named = [*arguments, "--requirements-gcs", f"file://{tmp_path}/requirements.txt"]
    code, err = ours(tmp_path, named, KINETIC_LOG_LEVEL="INFO")
    assert code == 0, err
    assert "nothing to install" in err
