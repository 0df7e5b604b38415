"""Jobs made by hand: artifacts as the specification has them, without the packaging of this project."""

import hashlib
import pickle
import secrets
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cloudpickle

from kinetic_core.model.job import JobSpec, StagedArtifact
from kinetic_core.model.request import RunOptions


def make_job(
    store: Path,
    function: Callable[..., Any],
    *args: Any,
    files: Mapping[str, str] | None = None,
    job_id: str = "",
    hidden: Mapping[str, str] | None = None,
    payload_keys: Mapping[str, Any] | None = None,
    requirements: str | None = None,
    **options: Any,
) -> JobSpec:
    """Write the artifacts of a job into a `file://` store, and return what a backend needs to start it.

    Args:
        store: The store's directory.
        function: Travels by value, so it must be nested in another or a lambda.
        args: Of the call.
        files: The context's files by name.
        job_id: Random when empty.
        hidden: The job's secrets.
        payload_keys: More of the payload.
        requirements: What is to be installed, one a line.
        options: Of `RunOptions`.
    """
    job_id = job_id or f"job-{secrets.token_hex(4)}"
    folder = store / job_id
    folder.mkdir(parents=True, exist_ok=True)
    payload = folder / "payload.pkl"
    call = {"func": function, "args": args, "kwargs": {}, "has_data_refs": False}
    payload.write_bytes(cloudpickle.dumps(call | dict(payload_keys or {})))
    context = folder / "context.zip"
    with zipfile.ZipFile(context, "w") as archive:
        for name, text in (files or {"notes.txt": "shipped"}).items():
            archive.writestr(name, text)
    listed = folder / "requirements.txt"
    if requirements is not None:
        listed.write_text(requirements)
    return JobSpec(
        job_id=job_id,
        name="by-hand",
        options=RunOptions(backend="local", accelerator="cpu", **options),
        context=_staged(context),
        payload=_staged(payload),
        requirements=_staged(listed) if requirements is not None else None,
        result_url=f"file://{folder}/result.pkl",
        job_url=f"file://{folder}",
        output_dir=f"file://{store}/outputs/{job_id}",
        secrets=hidden or {},
    )


def result_of(spec: JobSpec) -> dict[str, Any]:
    """Read the result record of a job made here."""
    record: dict[str, Any] = pickle.loads(Path(spec.result_url.removeprefix("file://")).read_bytes())
    return record


def _staged(path: Path) -> StagedArtifact:
    data = path.read_bytes()
    return StagedArtifact(url=f"file://{path}", sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data))
