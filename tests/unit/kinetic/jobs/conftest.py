from pathlib import Path

import pytest

from kinetic.jobs.ledger import JobRecord
from kinetic.testing.log import RecordingLog
from kinetic_core.model.job import JobRef
from kinetic_core.plugin import DriverContext, Storage
from kinetic_fsspec.plugin import kinetic_storage_drivers


@pytest.fixture
def store(tmp_path: Path) -> Storage:
    driver = next(driver for driver in kinetic_storage_drivers() if "file" in driver.schemes)
    context = DriverContext(log=RecordingLog(), environ={}, home=tmp_path)
    return driver.open(f"file://{tmp_path}/store", context)


@pytest.fixture
def record(store: Storage) -> JobRecord:
    return JobRecord(
        job_id="job-0a1b2c3d",
        backend="quiet",
        func_name="train",
        accelerator="cpu",
        created_at="2026-11-29T12:00:00+00:00",
        storage=store.url,
        folder="job-0a1b2c3d",
        result_file="result.pkl",
        ref=JobRef(backend="quiet", job_id="job-0a1b2c3d"),
    )
