"""A damaged context goes from the store; nothing else does."""

import attrs
import pytest

from kinetic.jobs.contexts import remove_damaged
from kinetic.jobs.ledger import JobRecord
from kinetic_core.model.job import JobRef
from kinetic_core.wire.result import Result
from tests.fakes.memory_storage import MemoryStorage

FOLDER = "cache/contexts/1/me-00000001/abcd"
RECORD = JobRecord(
    job_id="job-0a1b2c3d",
    backend="local",
    func_name="f",
    accelerator="cpu",
    created_at="2026-01-01T00:00:00+00:00",
    storage="count://store",
    folder="job-0a1b2c3d",
    result_file="result.pkl",
    ref=JobRef(backend="local", job_id="job-0a1b2c3d"),
    context=FOLDER,
)


def result(phase: str = "artifact verification", key: str = f"{FOLDER}/context.zip") -> Result:
    error = ValueError(f"count://store/{key} is not what the client sent")
    return Result(success=False, result=None, exception=error, traceback=None, phase=phase, host_index=0)


@pytest.fixture
def storage() -> MemoryStorage:
    keys = (f"{FOLDER}/context.zip", f"{FOLDER}/ef.layer", "cache/contexts/1/me-00000001/other/context.zip")
    return MemoryStorage(objects=dict.fromkeys(keys, (b"x", 0.0)))


def test_a_context_that_a_job_found_damaged_is_removed(storage: MemoryStorage) -> None:
    assert "submit again, and it is uploaded anew" in remove_damaged(RECORD, result(), storage)
    assert list(storage.objects) == ["cache/contexts/1/me-00000001/other/context.zip"]


@pytest.mark.parametrize(
    ("record", "failed"),
    [
        (RECORD, result(phase="artifact download")),
        (RECORD, result(key="job-0a1b2c3d/payload.pkl")),
        (attrs.evolve(RECORD, context=""), result()),
    ],
)
def test_where_the_context_is_not_to_blame_it_stays(record: JobRecord, failed: Result, storage: MemoryStorage) -> None:
    assert remove_damaged(record, failed, storage) == ""
    assert len(storage.objects) == 3


def test_a_store_that_refuses_is_told_of(storage: MemoryStorage) -> None:
    storage.refused = {"delete_prefix"}
    assert "could not be removed: 403" in remove_damaged(RECORD, result(), storage)


def test_a_record_keeps_where_the_context_lies() -> None:
    assert JobRecord.from_json(RECORD.to_json()) == RECORD
    own = attrs.evolve(RECORD, context="")
    assert "context" not in own.to_json()
    assert JobRecord.from_json(own.to_json()) == own
