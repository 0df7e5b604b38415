"""Artifacts made by hand, as the contract describes them, and the runner run on them."""

import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

import cloudpickle

ROOT = Path(__file__).parents[3]
CLIENT_ROOT = "/home/ann/proj"
PLAN = {"format": 1, "package_root": CLIENT_ROOT, "entry_rel": "", "client_cwd_rel": "", "sys_path_rel": [""]}


class ByValue(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle publishes no types
    """Pickles as the client does: code keeps the name of its file."""

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, CodeType):
            return super().reducer_override(obj)
        make, parts = self.dispatch_table[CodeType](obj)
        return make, tuple(obj.co_filename if part == "<dynamic-code>" else part for part in parts)


def pickled(value: Any, *, keep_files: bool = True) -> bytes:
    """Pickle by value."""
    stream = io.BytesIO()
    (ByValue if keep_files else cloudpickle.Pickler)(stream, protocol=5).dump(value)
    return stream.getvalue()


def script(source: str, file: str = "train.py", **more: Any) -> dict[str, Any]:
    """Run a main script of the client's, and return its globals."""
    path = f"{CLIENT_ROOT}/{file}"
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": path, **more}
    exec(compile(source, path, "exec"), namespace)
    return namespace


def context(files: Mapping[str, str | bytes], *, plan: Any = PLAN) -> bytes:
    """Make a context archive; a name that ends in a slash is a directory."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        if plan is not None:
            archive.writestr(".kinetic/plan.json", json.dumps(plan))
    return stream.getvalue()


@dataclass(kw_only=True)
class Ran:
    """What came of a run."""

    code: int
    out: str
    err: str
    folder: Path
    record: dict[str, Any] | None = field(repr=False)

    @property
    def value(self) -> Any:
        """Return the value of a run that succeeded."""
        assert self.code == 0, self.err
        assert self.record is not None
        assert self.record["success"] is True
        return self.record["result"]

    @property
    def failure(self) -> dict[str, Any]:
        """Return the record of a run that failed."""
        assert self.record is not None, self.err
        assert self.record["success"] is False
        return self.record


@dataclass(kw_only=True)
class Bench:
    """A folder with the artifacts of one job."""

    folder: Path
    files: dict[str, str | bytes] = field(default_factory=dict)
    plan: Any = field(default_factory=lambda: dict(PLAN))
    payload: dict[str, Any] = field(default_factory=dict)
    json: bool = False
    link: bool = False

    def uri(self, name: str) -> str:
        """Return the URI of a file in the folder."""
        return f"file://{self.folder / name}"

    def define(self, source: str, name: str = "f", *args: Any, file: str = "train.py", **kwargs: Any) -> None:
        """Let the job call a function of the main script, whose source ships."""
        self.files[file] = source
        self.payload |= {"func": script(source, file)[name], "args": args, "kwargs": kwargs}

    def write(self) -> list[str]:
        """Write the artifacts, and return the runner's arguments."""
        archive = context(self.files, plan=self.plan)
        payload = json.dumps(self.payload).encode() if self.json else pickled(self.payload)
        suffix = "json" if self.json else "pkl"
        self.folder.joinpath("context.zip").write_bytes(archive)
        self.folder.joinpath(f"payload.{suffix}").write_bytes(payload)
        return [
            *("--context", self.uri("context.zip"), "--context-sha256", hashlib.sha256(archive).hexdigest()),
            *("--payload", self.uri(f"payload.{suffix}"), "--payload-sha256", hashlib.sha256(payload).hexdigest()),
            *("--result", self.uri(f"result.{suffix}")),
            *(() if self.link else ("--no-working-dir-link",)),
        ]

    def start(self, *more: str, env: Mapping[str, str] | None = None, python: str = sys.executable) -> Any:
        """Start the runner in a process of its own."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "TMPDIR": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "KINETIC_LOG_LEVEL": "INFO",
            **(env or {}),
        }
        return subprocess.Popen(
            [python, "-P", "-m", "kinetic_runner", *self.write(), *more],
            cwd=self.folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # whatever a job signals, the tests' own process group is another
        )

    def finish(self, process: Any) -> Ran:
        """Wait for a run that was started."""
        out, err = process.communicate(timeout=60)
        return Ran(
            code=process.returncode,
            out=out.decode(errors="replace"),
            err=err.decode(errors="replace"),
            folder=self.folder,
            record=self.read("result.json" if self.json else "result.pkl"),
        )

    def run(self, *more: str, env: Mapping[str, str] | None = None, python: str = sys.executable) -> Ran:
        """Run the job."""
        return self.finish(self.start(*more, env=env, python=python))

    def read(self, name: str) -> dict[str, Any] | None:
        """Read a record, if it is there."""
        path = self.folder / name
        if not path.exists():
            return None
        data = path.read_bytes()
        record: dict[str, Any] = json.loads(data) if name.endswith(".json") else pickle.loads(data)
        return record
