"""The record of a job, from which any process opens it."""

import json
from typing import cast

import attrs
import pytest

from kinetic.jobs.ledger import (
    CLAIM_FILE,
    JobRecord,
    bury_job,
    claim_burial,
    forget_job,
    is_collected,
    pointer_key,
    read_job,
    record_job,
)
from kinetic_core.errors import JobNotFoundError, ResultUnavailableError, StorageError
from kinetic_core.model.job import JobRef
from kinetic_core.plugin import Storage


def keys(store: Storage) -> list[str]:
    return [stored.key for stored in store.list()]


def test_a_job_is_found_by_its_id_alone_wherever_its_folder_is(record: JobRecord, store: Storage) -> None:
    record = attrs.evolve(record, folder="ada-12345678/train-0a1b2c3d")
    record_job(store, record)
    assert read_job(store, record.job_id) == record


def test_unknown_keys_of_a_newer_version_are_kept(record: JobRecord) -> None:
    raw = record.to_json() | {"colour": "blue"}
    assert JobRecord.from_json(json.loads(json.dumps(raw))).to_json() == raw


def test_a_missing_key_is_named(record: JobRecord) -> None:
    raw = record.to_json()
    del raw["folder"], raw["ref"]
    with pytest.raises(ResultUnavailableError, match="lacks folder, ref"):
        JobRecord.from_json(raw)


@pytest.mark.parametrize("name", ["job_id", "backend", "func_name", "created_at", "storage", "folder", "result"])
@pytest.mark.parametrize("value", [None, 5, "", ["x"]])
def test_a_key_that_holds_no_text_is_named(record: JobRecord, store: Storage, name: str, value: object) -> None:
    record_job(store, record)
    store.put_bytes(json.dumps(record.to_json() | {name: value}).encode(), f"{record.folder}/handle.json")
    with pytest.raises(ResultUnavailableError, match=f"holds no text as {name}$"):
        read_job(store, record.job_id)


@pytest.mark.parametrize("ref", [None, 5, {}, [], {"backend": "quiet"}, {"backend": 1, "job_id": "job-0a1b2c3d"}])
def test_a_reference_that_is_none_is_named(record: JobRecord, ref: object) -> None:
    with pytest.raises(ResultUnavailableError, match="holds no text as ref"):
        JobRecord.from_json(record.to_json() | {"ref": ref})


def test_the_backends_details_travel_flat(record: JobRecord) -> None:
    ref = JobRef(backend="quiet", job_id=record.job_id, details={"pid": "7"})
    raw = attrs.evolve(record, ref=ref).to_json()
    assert raw["ref"] == {"backend": "quiet", "job_id": record.job_id, "pid": "7"}
    assert JobRecord.from_json(raw).ref == ref


def test_an_unknown_job_names_the_store(store: Storage) -> None:
    with pytest.raises(JobNotFoundError, match="no job 'job-ffffffff' in file://"):
        read_job(store, "job-ffffffff")


@pytest.mark.parametrize("damage", [b"", b"[]", b"{}", b"\xff", b'{"folder": 3}', b'{"folder": ""}', b'"a"'])
def test_a_damaged_pointer_is_said_to_be_damaged(store: Storage, damage: bytes) -> None:
    store.put_bytes(damage, pointer_key("job-0a1b2c3d"))
    with pytest.raises(ResultUnavailableError, match="is damaged"):
        read_job(store, "job-0a1b2c3d")


def test_a_buried_job_leaves_only_a_tombstone(record: JobRecord, store: Storage) -> None:
    record_job(store, record)
    bury_job(store, record)
    assert keys(store) == ["jobs/job-0a1b2c3d"]
    assert is_collected(store, record.job_id) is not None
    with pytest.raises(ResultUnavailableError, match="was collected at"):
        read_job(store, record.job_id)


def test_a_live_job_is_not_collected(record: JobRecord, store: Storage) -> None:
    record_job(store, record)
    assert is_collected(store, record.job_id) is None


def test_a_forgotten_job_leaves_nothing_and_its_neighbour_everything(record: JobRecord, store: Storage) -> None:
    neighbour = attrs.evolve(record, job_id="job-0a1b2c3d0", folder="job-0a1b2c3d0")
    record_job(store, record)
    record_job(store, neighbour)
    forget_job(store, record.job_id, record.folder)
    forget_job(store, record.job_id, record.folder)
    assert keys(store) == ["job-0a1b2c3d0/handle.json", "jobs/job-0a1b2c3d0"]


@pytest.mark.parametrize("job_id", ["", "../x", "job-1", "job-0A1B2C3D", "j" * 300, "job-0a1b2c3d/"])
def test_what_is_no_job_id_is_no_job_of_that_store(store: Storage, job_id: str) -> None:
    with pytest.raises(JobNotFoundError, match="a job id looks like job-0a1b2c3d"):
        read_job(store, job_id)


def test_what_is_no_dict_is_no_handle() -> None:
    with pytest.raises(TypeError, match="a job handle is a dict, got 3"):
        JobRecord.from_json(3)  # type: ignore[arg-type]  # the wrong type is the test


def test_of_all_that_collect_a_job_one_cleans_up(record: JobRecord, store: Storage) -> None:
    record_job(store, record)
    assert [claim_burial(store, record) for _ in range(3)] == [True, False, False]
    bury_job(store, record)
    assert not claim_burial(store, record)
    assert keys(store) == ["jobs/job-0a1b2c3d"]


@pytest.mark.parametrize(
    ("claim", "is_free"),
    [
        (b'{"claimed_at": "2020-01-01T00:00:00+00:00"}', True),
        (b'{"claimed_at": "2920-01-01T00:00:00+00:00"}', False),
        (b"damaged", True),
        (b"[]", True),
    ],
)
def test_a_claim_that_was_abandoned_or_damaged_is_taken_over(
    record: JobRecord, store: Storage, claim: bytes, is_free: bool
) -> None:
    record_job(store, record)
    store.put_bytes(claim, f"{record.folder}/{CLAIM_FILE}")
    assert claim_burial(store, record) is is_free


def test_a_claim_that_vanishes_was_that_of_who_has_cleaned_up(record: JobRecord, store: Storage) -> None:
    class Vanishing:
        """The claim goes between the two looks at it."""

        def put_if_absent(self, data: bytes, key: str) -> bool:
            return False

        def get_bytes(self, key: str) -> bytes:
            return store.get_bytes(key)

    assert not claim_burial(cast("Storage", Vanishing()), record)


@pytest.mark.parametrize("is_buried", [True, False])
def test_a_claim_that_the_store_refuses_is_anothers_only_where_the_job_was_collected(
    record: JobRecord, store: Storage, is_buried: bool
) -> None:
    class Refusing:
        def put_if_absent(self, data: bytes, key: str) -> bool:
            raise StorageError("the folder is being removed")

        def get_bytes(self, key: str) -> bytes:
            return store.get_bytes(key)

    record_job(store, record)
    if is_buried:
        bury_job(store, record)
        assert not claim_burial(cast("Storage", Refusing()), record)
    else:
        with pytest.raises(StorageError, match="being removed"):
            claim_burial(cast("Storage", Refusing()), record)
