"""What is written of a batch, for whoever goes on with it."""

import json

import attrs
import pytest

from kinetic.jobs.batchrecord import BatchRecord, Limits
from kinetic.jobs.lifecycle import InputState
from kinetic_core.errors import ResultUnavailableError
from kinetic_core.model.job import StagedArtifact
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import Storage

RECORD = BatchRecord(
    group_id="batch-0000000a",
    name="try",
    func_name="train",
    created_at="2026-11-29T12:00:00+00:00",
    storage="file:///store",
    folder="batch-0000000a",
    options=RunOptions(backend="gke", accelerator="cpu", storage="file:///store"),
    context=StagedArtifact(url="u", sha256="00", size_bytes=1),
    limits=Limits(),
    image="registry.example/job:0f3a",
)


def test_the_image_that_was_made_is_every_jobs(store: Storage) -> None:
    read = BatchRecord.from_json(json.loads(json.dumps(RECORD.to_json())))
    assert read == RECORD
    assert read.spec(InputState(index=3, sha256="00", size_bytes=1), store, {}).image == RECORD.image


def test_a_record_from_before_there_were_images_is_read() -> None:
    raw = RECORD.to_json()
    del raw["image"]
    assert BatchRecord.from_json(raw) == attrs.evolve(RECORD, image="")
    del raw["context"]
    with pytest.raises(ResultUnavailableError, match=r"it lacks context$"):
        BatchRecord.from_json(raw)
