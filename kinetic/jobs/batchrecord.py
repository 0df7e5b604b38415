"""What does not change about a batch, and the specs of its jobs, which follow from it."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

import attrs

from kinetic.jobs.ids import job_id_in
from kinetic.jobs.ledger import JobRecord
from kinetic.jobs.lifecycle import InputState
from kinetic_core.errors import ConfigError, ResultUnavailableError
from kinetic_core.model.job import JobRef, JobSpec, StagedArtifact
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import Storage
from kinetic_core.wire import names

FORMAT: Final = 1
_TEXTS: Final = ("group_id", "name", "func_name", "created_at", "storage", "folder", "suffix")
_OPTIONS: Final = frozenset(field.name for field in attrs.fields(RunOptions)) - {"volumes"}


@attrs.frozen(kw_only=True)
class Limits:
    """How a batch is driven; checked when it is made."""

    max_concurrent: int | None = 64
    """Most jobs that wait or run at once; `None` for all."""
    retries: int = 0
    """Further attempts of an input whose job failed, or is gone."""
    fail_fast: bool = False
    """Submit nothing more once an input has failed for good."""
    cancel_running_on_fail: bool = False
    """End what runs, too."""

    def __attrs_post_init__(self) -> None:
        if self.max_concurrent is not None and not _is_count(self.max_concurrent, least=1):
            raise ConfigError(
                f"max_concurrent must be a whole number of 1 or more, or None for no limit, got {self.max_concurrent!r}"
            )
        if not _is_count(self.retries, least=0):
            raise ConfigError(f"retries must be a whole number of 0 or more, got {self.retries!r}")


@attrs.frozen(kw_only=True)
class BatchRecord:
    """All that a process needs to go on with a batch; never a credential."""

    group_id: str
    name: str
    """As the user calls it, else the function's name."""
    tags: tuple[str, ...] = ()
    func_name: str
    created_at: str
    """ISO 8601 with time zone."""
    storage: str
    """URL of the store."""
    folder: str
    """The batch's folder in the store."""
    options: RunOptions
    """With nothing left to choose, and without volumes, whose references stand below."""
    context: StagedArtifact
    requirements: StagedArtifact | None = None
    image: str = ""
    """URI of the image that was made for the jobs, if one was."""
    volumes: tuple[Mapping[str, Any], ...] = ()
    suffix: str = ".pkl"
    """Of payloads and results."""
    limits: Limits
    debug_root: str = ""
    """The package root on the client, where a debugger waits in each job; else empty."""
    size: int | None = None
    """How many inputs there are, where that was known at the start."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `batch.json`."""
        raw = attrs.asdict(self, recurse=True)
        raw["options"] = {name: value for name, value in raw["options"].items() if name in _OPTIONS}
        return {"format": FORMAT, **raw}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "BatchRecord":
        """Read what `to_json` wrote; keys of a newer version are ignored.

        Raises:
            ResultUnavailableError: A key is missing, or holds what it cannot; the message names it.
        """
        known = {field.name for field in attrs.fields(cls)}
        raw = {"image": "", "debug_root": "", **raw}
        missing = sorted(known - raw.keys())
        if missing:
            raise ResultUnavailableError(f"this is no record of a batch: it lacks {', '.join(missing)}")
        odd = sorted(name for name in _TEXTS if not isinstance(raw[name], str))
        if odd:
            raise ResultUnavailableError(f"this is no record of a batch: it holds no text as {', '.join(odd)}")
        given = {name: raw[name] for name in known}
        options = {name: value for name, value in raw["options"].items() if name in _OPTIONS}
        requirements = raw["requirements"]
        return cls(
            **given
            | {
                "tags": tuple(raw["tags"]),
                "volumes": tuple(raw["volumes"]),
                "options": RunOptions(**options),
                "context": _artifact(raw["context"]),
                "requirements": None if requirements is None else _artifact(requirements),
                "limits": Limits(**raw["limits"]),
            }
        )

    @property
    def backend(self) -> str:
        """Return the name of the backend that runs its jobs."""
        return self.options.backend or ""

    @property
    def result_file(self) -> str:
        """Return the name of a result: in the payloads' format, and so with their suffix."""
        return str(PurePosixPath(names.RESULT_FILE).with_suffix(self.suffix))

    def job_id(self, index: int, attempt: int) -> str:
        """Return the id of the job that is this attempt at an input."""
        return job_id_in(self.group_id, index, attempt, retries=self.limits.retries)

    def payload_key(self, index: int) -> str:
        """Return where an input's payload lies."""
        return f"{self.folder}/payloads/{index}{self.suffix}"

    def output_dir(self, index: int) -> str:
        """Return where the function's output goes: the same place for each attempt."""
        return self.options.output_dir or f"{self.storage}/outputs/{self.job_id(index, 1)}"

    def job(self, state: InputState, storage: Storage) -> JobRecord:
        """Return the record of the present attempt's job."""
        folder = f"{self.folder}/jobs/{state.index}-{state.attempt}"
        job_id = self.job_id(state.index, state.attempt)
        details = state.details if state.is_submitted and state.details else {"job_url": storage.url_of(folder)}
        return JobRecord(
            job_id=job_id,
            backend=self.backend,
            func_name=self.func_name,
            accelerator=self.options.accelerator,
            created_at=self.created_at,
            storage=self.storage,
            folder=folder,
            result_file=self.result_file,
            ref=JobRef(backend=self.backend, job_id=job_id, details=details),
            debug_root=self.debug_root,
            others={"group_id": self.group_id, "input": state.index, "attempt": state.attempt},
        )

    def spec(self, state: InputState, storage: Storage, secrets: Mapping[str, str]) -> JobSpec:
        """Return what a backend needs to start the present attempt."""
        job = self.job(state, storage)
        payload = storage.url_of(self.payload_key(state.index))
        return JobSpec(
            job_id=job.job_id,
            name=self.func_name,
            options=self.options,
            context=self.context,
            payload=StagedArtifact(url=payload, sha256=state.sha256, size_bytes=state.size_bytes),
            requirements=self.requirements,
            image=self.image,
            result_url=storage.url_of(f"{job.folder}/{self.result_file}"),
            job_url=storage.url_of(job.folder),
            output_dir=self.output_dir(state.index),
            volumes=self.volumes,
            secrets=secrets,
            allowed_serialization=self.options.allowed_serialization or names.DEFAULT_FORMATS,
        )


def _is_count(value: Any, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _artifact(raw: Mapping[str, Any]) -> StagedArtifact:
    return StagedArtifact(**{**raw, "layers": tuple(raw.get("layers", ()))})
