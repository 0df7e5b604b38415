"""Another runner and another client of the same contract, written from its tables alone.

Shares no code with this project. It knows the names of the Kinetic 0.0.x runner and nothing newer: no `data_ref_ids`,
no hashes, no formats. As a program it runs a job:
`python original_runner.py --context-gcs URI --payload-gcs URI --result-gcs URI [--requirements-gcs URI]`.
"""

import argparse
import json
import os
import pickle
import sys
import tempfile
import traceback
import zipfile
from pathlib import Path
from typing import Any

import cloudpickle

PAYLOAD_KEYS = ("func", "args", "kwargs", "env_vars", "has_data_refs", "client_fingerprint", "working_dir")
PLAN_KEYS = ("package_root", "entry_rel", "client_cwd_rel", "sys_path_rel")
REFERENCE_KEYS = ("__data_ref__", "uri", "is_dir", "mount_path", "fuse", "hf_trust_remote_code")
RESULT_KEYS = ("success", "result", "exception", "traceback", "phase", "host_index")


def local(uri: str) -> Path:
    """Return the path of a `file://` URI."""
    assert uri.startswith("file://"), uri
    return Path(uri.removeprefix("file://"))


def resolved(value: Any) -> Any:
    """Return a value with a path in the place of each reference; its stores are all local."""
    if isinstance(value, dict) and value.get("__data_ref__") is True:
        assert set(REFERENCE_KEYS) <= set(value)
        assert value["mount_path"] is None or value["mount_path"].startswith("/")
        path = local(value["uri"].rstrip("/"))
        assert path.is_dir() == value["is_dir"], value
        return str(path)
    if isinstance(value, dict):
        return {key: resolved(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([resolved(item) for item in value])
    return value


def run(context: Path, payload_file: Path, workspace: Path) -> dict[str, Any]:
    """Run one job in this process, and return its result record."""
    zipfile.ZipFile(context).extractall(workspace)
    plan = json.loads(workspace.joinpath(".kinetic", "plan.json").read_bytes())
    assert set(PLAN_KEYS) <= set(plan)
    assert plan["sys_path_rel"][0] == ""
    sys.path[:0] = [str(workspace / rel) for rel in plan["sys_path_rel"]]
    os.chdir(workspace if plan["client_cwd_rel"] is None else workspace / plan["client_cwd_rel"])
    payload = pickle.loads(payload_file.read_bytes())
    assert set(PAYLOAD_KEYS) | set(PLAN_KEYS) <= set(payload)
    assert {key: payload[key] for key in PLAN_KEYS} == {key: plan[key] for key in PLAN_KEYS}
    assert set(payload["client_fingerprint"]) >= {"python", "cloudpickle", "kinetic"}
    os.environ.update(payload["env_vars"])
    args, kwargs = payload["args"], payload["kwargs"]
    if payload["has_data_refs"]:
        args, kwargs = resolved(args), resolved(kwargs)
    record = dict.fromkeys(RESULT_KEYS) | {"phase": "execute", "host_index": 0}
    try:
        return record | {"success": True, "result": payload["func"](*args, **kwargs)}
    except Exception as error:  # noqa: BLE001 - reported, whatever it is
        return record | {"success": False, "exception": error, "traceback": traceback.format_exc()}


def write_job(
    folder: Path, payload: dict[str, Any], files: dict[str, str], *, plan: dict[str, Any] | None
) -> list[str]:
    """Write the artifacts of a job as an original client does; return its runner's arguments."""
    with zipfile.ZipFile(folder / "context.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        if plan is not None:
            archive.writestr(".kinetic/plan.json", json.dumps(plan))
    folder.joinpath("payload.pkl").write_bytes(cloudpickle.dumps(payload))
    names = {"context": "context.zip", "payload": "payload.pkl", "result": "result.pkl"}
    return [part for flag, name in names.items() for part in (f"--{flag}-gcs", f"file://{folder / name}")]


def read_result(path: Path) -> dict[str, Any]:
    """Read a record as an original client does."""
    record: dict[str, Any] = pickle.loads(path.read_bytes())
    assert set(RESULT_KEYS) <= set(record)
    assert isinstance(record["success"], bool)
    assert record["exception"] is None or isinstance(record["exception"], Exception)
    return record


def main() -> None:
    """Run the job of the command line."""
    parser = argparse.ArgumentParser()
    for flag in ("--context-gcs", "--payload-gcs", "--result-gcs"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--requirements-gcs")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as workspace:
        record = run(local(asked.context_gcs), local(asked.payload_gcs), Path(workspace))
    local(asked.result_gcs).write_bytes(cloudpickle.dumps(record))
    sys.exit(0 if record["success"] else 1)


if __name__ == "__main__":
    main()
