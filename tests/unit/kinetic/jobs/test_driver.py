"""Driving a batch, round by round, with a backend that runs nothing."""

import json
from collections.abc import Mapping

import attrs
import pytest

from kinetic.jobs import driver as driving
from kinetic.jobs.batchrecord import BatchRecord, Limits
from kinetic.jobs.driver import CANCELLED, Driver
from kinetic.jobs.lifecycle import InputState
from kinetic.jobs.manifest import PAGE, Manifest, find_batches, read_batch
from kinetic_core.errors import ConfigError, JobNotFoundError, ResultUnavailableError, SubmissionError
from kinetic_core.model.job import BEHIND_OTHERS, JobRef, JobSpec, JobState, JobStatus, StagedArtifact
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import Storage
from tests.fakes.array_backend import ArrayOfQuiet

RUNNING = JobState(status=JobStatus.RUNNING)
SUCCEEDED = JobState(status=JobStatus.SUCCEEDED)
FAILED = JobState(status=JobStatus.FAILED)
Statuses = dict[str, JobState]


def manifest_in(store: Storage, **limits: object) -> Manifest:
    """Make a batch known that has no inputs yet."""
    record = BatchRecord(
        group_id="batch-0000000a",
        name="try",
        func_name="train",
        created_at="2026-11-29T12:00:00+00:00",
        storage=store.url,
        folder="batch-0000000a",
        options=RunOptions(backend="quiet", accelerator="cpu", storage=store.url),
        context=StagedArtifact(url="u", sha256="00", size_bytes=1),
        limits=Limits(**limits),  # type: ignore[arg-type]  # what each test wants
    )
    made = Manifest(storage=store, record=record)
    made.begin()
    return made


def staged(manifest: Manifest, count: int) -> list[InputState]:
    """Stage inputs as the submitting client does."""
    states = [InputState(index=index, sha256="00", size_bytes=1) for index in range(count)]
    for page in range(-(-count // PAGE)):
        manifest.write_inputs(page, states[page * PAGE : (page + 1) * PAGE])
    manifest.write_end(count)
    return states


def driver_of(manifest: Manifest, backend: ArrayOfQuiet, *, arrays: bool = False) -> Driver:
    return Driver(manifest, backend, arrays=arrays, secrets=dict)


def begun(store: Storage, count: int, *, arrays: bool = False, **limits: object) -> tuple[Driver, ArrayOfQuiet]:
    """Return the driver of a batch in the process that has its inputs."""
    manifest, backend = manifest_in(store, **limits), ArrayOfQuiet()
    driver = Driver(manifest, backend, arrays=arrays, secrets=dict, has_inputs=True)
    driver.add(staged(manifest, count))
    driver.end(count)
    return driver, backend


def statuses(driver: Driver) -> list[str]:
    return [str(state.status) for state in driver.states]


def test_no_more_jobs_are_in_flight_than_are_let(store: Storage) -> None:
    driver, backend = begun(store, 5, max_concurrent=2)
    driver.step()
    driver.step()
    assert len(backend.submitted) == 2
    first = backend.submitted[0].job_id
    backend.answer = lambda job_id: SUCCEEDED if job_id == first else RUNNING
    driver.step()
    assert len(backend.submitted) == 3
    assert backend.calls == []


def test_without_a_limit_all_are_in_flight_at_once(store: Storage) -> None:
    driver, backend = begun(store, 150, max_concurrent=None)
    driver.step()
    assert len(backend.submitted) == 150
    assert len({spec.job_id for spec in backend.submitted}) == 150


def test_an_array_backend_is_called_once_and_told_the_limit(store: Storage) -> None:
    driver, backend = begun(store, 1000, arrays=True, max_concurrent=16)
    driver.step()
    driver.step()
    assert (backend.calls, backend.most) == ([1000], [16])


def test_a_retry_is_another_job_with_the_same_payload_and_output(store: Storage) -> None:
    driver, backend = begun(store, 1, retries=1)
    backend.answer = lambda _: FAILED
    while not driver.is_settled:
        driver.step()
    first, second = backend.submitted
    assert (first.job_id, second.job_id) == ("job-0000000a", "job-0000000b")
    assert (first.payload, first.output_dir) == (second.payload, second.output_dir)
    assert first.result_url != second.result_url
    assert (driver.states[0].attempt, driver.completed) == (2, [0])


def test_a_submission_error_is_final_and_costs_no_retry(store: Storage) -> None:
    driver, backend = begun(store, 2, retries=3)
    backend.refusal = SubmissionError("no room")
    driver.step()
    assert driver.is_settled
    assert [str(driver.errors[index]) for index in range(2)] == ["no room", "no room"]
    other = driver_of(driver.manifest, ArrayOfQuiet())
    assert [state.refusal for state in other.states] == [state.refusal for state in driver.states]


def test_an_array_that_fails_after_it_was_taken_is_found_again(store: Storage) -> None:
    class Broken(ArrayOfQuiet):
        def submit_many(self, specs: list[JobSpec], *, max_concurrent: int | None = None) -> list[JobRef]:  # type: ignore[override]
            super().submit_many(specs[:2])
            raise TimeoutError("no answer")

    manifest, backend = manifest_in(store), Broken()
    staged(manifest, 3)
    driver = driver_of(manifest, backend, arrays=True)
    driver.step()
    assert [state.is_in_flight for state in driver.states] == [True, True, False]
    assert driver.states[2].refusal is not None


def test_who_goes_on_takes_up_what_was_started_and_starts_the_rest(store: Storage) -> None:
    first, backend = begun(store, 4, max_concurrent=2)
    first._submit()  # and dies before it notes anything
    other = driver_of(first.manifest, backend)
    other.step()
    assert [spec.job_id for spec in backend.submitted] == ["job-0000000a", "job-0000000b"]
    backend.answer = lambda _: SUCCEEDED
    for _ in range(3):
        other.step()
    assert other.is_settled
    assert len(backend.submitted) == 4
    assert statuses(driver_of(first.manifest, backend)) == ["SUCCEEDED"] * 4


def test_a_job_that_its_backend_has_forgotten_has_ended_where_its_result_is_there(store: Storage) -> None:
    driver, backend = begun(store, 2)
    driver.step()
    store.put_bytes(b"x", "batch-0000000a/jobs/0-1/result.pkl")
    backend.submitted.clear()
    driver.step()
    assert statuses(driver) == ["SUCCEEDED", "NOT_FOUND"]


def test_a_job_whose_result_was_collected_apart_is_not_started_again(store: Storage) -> None:
    driver, backend = begun(store, 1)
    store.put_bytes(b'{"format": 1, "collected_at": "then"}', "jobs/job-0000000a")
    other = driver_of(driver.manifest, backend)
    other.step()
    assert (statuses(other), backend.submitted) == (["SUCCEEDED"], [])


def test_once_stopped_nothing_is_started_and_what_runs_is_ended(store: Storage) -> None:
    driver, backend = begun(store, 3, max_concurrent=1)
    driver.step()
    other = driver_of(driver.manifest, backend)
    other.stop(CANCELLED)
    driver.step()
    assert statuses(driver) == ["CANCELLED"] * 3
    assert (len(backend.submitted), backend.cancelled) == (1, ["job-0000000a"])
    assert [state.is_submitted for state in driver.states] == [True, False, False]


def test_a_stopped_batch_waits_for_no_more_inputs_and_drops_those_that_come_late(store: Storage) -> None:
    manifest, backend = manifest_in(store), ArrayOfQuiet()
    driver = Driver(manifest, backend, secrets=dict, has_inputs=True)
    driver.add([InputState(index=0, sha256="00")])
    driver.stop(CANCELLED)
    driver.step()
    assert driver.is_settled
    driver.add([InputState(index=1, sha256="00")])
    assert driver.is_settled
    assert (statuses(driver), backend.submitted) == (["CANCELLED"] * 2, [])


@pytest.mark.parametrize(("ends_running", "ended"), [(False, []), (True, ["job-0000000b"])])
def test_fail_fast_drops_what_waits_and_ends_what_runs_only_on_request(
    store: Storage, ends_running: bool, ended: list[str]
) -> None:
    driver, backend = begun(store, 4, max_concurrent=2, fail_fast=True, cancel_running_on_fail=ends_running)
    driver.step()
    backend.answer = lambda job_id: FAILED if job_id == "job-0000000a" else RUNNING
    driver.step()
    assert backend.cancelled == ended
    assert statuses(driver) == ["FAILED", "CANCELLED" if ended else "RUNNING", "CANCELLED", "CANCELLED"]
    assert driver.manifest.stopped() == "failed"
    assert driver.room() == 0


def test_fail_fast_ends_what_waits_in_an_array(store: Storage) -> None:
    driver, backend = begun(store, 3, arrays=True, fail_fast=True)
    backend.answer = lambda _: JobState(status=JobStatus.PENDING)
    driver.step()
    backend.answer = lambda job_id: FAILED if job_id == "job-0000000a" else JobState(status=JobStatus.PENDING)
    driver.step()
    assert statuses(driver) == ["FAILED", "CANCELLED", "CANCELLED"]


def test_inputs_that_another_process_stages_meanwhile_are_seen(store: Storage) -> None:
    manifest, backend = manifest_in(store), ArrayOfQuiet()
    manifest.write_inputs(0, [InputState(index=0, sha256="00")])
    driver = driver_of(manifest, backend)
    driver.step()
    assert (len(driver.states), driver.count) == (1, None)
    staged(manifest, 3)
    driver.step()
    assert (len(driver.states), driver.count, len(backend.submitted)) == (3, 3, 3)


def test_secrets_that_are_not_set_stop_what_needs_them(store: Storage) -> None:
    manifest = manifest_in(store)
    staged(manifest, 1)

    def unset() -> Mapping[str, str]:
        raise ConfigError("TOKEN is not set")

    driver = Driver(manifest, ArrayOfQuiet(), secrets=unset)
    with pytest.raises(ConfigError, match="TOKEN"):
        driver.step()
    assert not driver.is_settled


def test_notes_are_written_page_by_page_and_only_where_something_changed(store: Storage) -> None:
    driver, backend = begun(store, 250, max_concurrent=None)
    driver.step()
    assert [stored.key.rpartition("/")[2] for stored in store.list("batch-0000000a/attempts")] == [
        "00000.json",
        "00001.json",
        "00002.json",
    ]
    before = {stored.key: stored.modified_s for stored in store.list("batch-0000000a/attempts")}
    backend.answer = lambda job_id: SUCCEEDED if job_id == "job-0000000a" else RUNNING
    driver.step()
    after = {stored.key: stored.modified_s for stored in store.list("batch-0000000a/attempts")}
    assert [key for key in after if after[key] != before[key]] == ["batch-0000000a/attempts/00000.json"]


def test_a_batch_is_found_by_its_id_and_a_near_one_is_suggested(store: Storage) -> None:
    manifest = manifest_in(store)
    assert read_batch(store, "batch-0000000a").record == manifest.record
    assert [found.record.group_id for found in find_batches(store)] == ["batch-0000000a"]
    with pytest.raises(JobNotFoundError, match="did you mean 'batch-0000000a'"):
        read_batch(store, "batch-0000000b")
    with pytest.raises(JobNotFoundError, match="looks like batch-0a1b2c3d"):
        read_batch(store, "job-0000000a")


def test_a_buried_batch_leaves_a_tombstone_and_a_forgotten_one_nothing(store: Storage) -> None:
    manifest = manifest_in(store)
    manifest.mark_collected()
    manifest.remove()
    assert [stored.key for stored in store.list()] == ["batches/batch-0000000a"]
    with pytest.raises(ResultUnavailableError, match="were collected at"):
        read_batch(store, "batch-0000000a")
    assert list(find_batches(store)) == []
    manifest.forget()
    assert list(store.list()) == []


@pytest.mark.parametrize("damage", [b"", b"[]", b"{}", b"\xff", b'{"folder": 3}'])
def test_a_damaged_pointer_is_said_to_be_damaged(store: Storage, damage: bytes) -> None:
    store.put_bytes(damage, "batches/batch-0a1b2c3d")
    with pytest.raises((ResultUnavailableError, JobNotFoundError)):
        read_batch(store, "batch-0a1b2c3d")


def test_a_missing_key_of_a_record_is_named_and_an_unknown_one_ignored(store: Storage) -> None:
    raw = manifest_in(store).record.to_json()
    assert BatchRecord.from_json(raw | {"colour": "blue"}) == BatchRecord.from_json(raw)
    del raw["limits"], raw["context"]
    with pytest.raises(ResultUnavailableError, match="lacks context, limits"):
        BatchRecord.from_json(raw)


def test_volumes_of_the_options_stay_out_of_the_record(store: Storage) -> None:
    record = attrs.evolve(manifest_in(store).record, volumes=({"uri": "u", "mount_path": "/d"},))
    assert "volumes" not in record.to_json()["options"]
    assert BatchRecord.from_json(record.to_json()).volumes == record.volumes


@pytest.mark.parametrize("name", ["batch.json", "inputs/00000.json", "inputs/end.json", "attempts/00000.json"])
@pytest.mark.parametrize(
    "damage", [b"", b"[]", b"5", b'{"inputs": 5, "attempts": 5, "count": "x"}', b'{"inputs": [{}], "attempts": [5]}']
)
def test_a_damaged_manifest_is_said_to_be_damaged(store: Storage, name: str, damage: bytes) -> None:
    manifest = manifest_in(store)
    manifest.write_attempts(0, staged(manifest, 2))
    store.put_bytes(damage, f"{manifest.folder}/{name}")
    with pytest.raises(ResultUnavailableError, match=r"is damaged|is no record"):
        read_batch(store, "batch-0000000a").read_inputs()


@pytest.mark.parametrize("key", ["options", "limits", "context", "tags", "folder", "storage", "suffix", "volumes"])
def test_a_record_of_a_batch_that_holds_something_else_is_damaged(store: Storage, key: str) -> None:
    raw = manifest_in(store).record.to_json() | {key: 5}
    store.put_bytes(json.dumps(raw).encode(), "batch-0000000a/batch.json")
    with pytest.raises(ResultUnavailableError, match="batch"):
        read_batch(store, "batch-0000000a")
    assert list(find_batches(store)) == []


@pytest.mark.parametrize("page", [0, 1])
def test_a_page_of_inputs_that_is_gone_is_no_batch_with_fewer_inputs(store: Storage, page: int) -> None:
    manifest = manifest_in(store)
    staged(manifest, PAGE + 1)
    store.delete_prefix(f"{manifest.folder}/inputs/{page:05}.json")
    with pytest.raises(ResultUnavailableError, match="a page of its inputs is gone"):
        driver_of(manifest, ArrayOfQuiet())
    manifest.mark_collected()
    store.put_bytes(b'{"format": 1, "count": 1}', f"{manifest.folder}/inputs/end.json")
    with pytest.raises(ResultUnavailableError, match="were collected at"):
        manifest.read_inputs()


@pytest.mark.parametrize("how", ["collected", "cleaned up"])
def test_a_batch_that_another_process_takes_away_is_not_tried_again(store: Storage, how: str) -> None:
    driver, backend = begun(store, 2, retries=3)
    driver.step()
    if how == "collected":
        driver.manifest.mark_collected()
        driver.manifest.remove()
    else:
        driver.manifest.forget()
    backend.answer = lambda _: JobState(status=JobStatus.NOT_FOUND)
    with pytest.raises(ResultUnavailableError, match=how):
        driver.step()
    assert len(backend.submitted) == 2
    assert driver.errors == {}


def test_a_batch_of_which_nothing_runs_says_why_once(
    store: Storage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "_MOMENT_S", 0.0)
    caplog.set_level("INFO", "kinetic.jobs")
    driver, backend = begun(store, 3, max_concurrent=None)
    backend.answer = lambda _: JobState(status=JobStatus.PENDING, reason="no node has room for it")
    driver.step()
    driver.step()
    first = driver.job(driver.states[0]).job_id
    backend.answer = lambda job_id: (
        RUNNING if job_id == first else JobState(status=JobStatus.PENDING, reason="waiting for other jobs of its batch")
    )
    driver.step()
    driver.step()
    (told,) = caplog.messages
    assert told.startswith("job_waiting: batch-0000000a does not run yet: no node has room for it")


def test_a_batch_that_is_about_to_run_says_nothing(store: Storage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kinetic.jobs")
    driver, backend = begun(store, 2, max_concurrent=None)
    backend.answer = lambda _: JobState(status=JobStatus.PENDING, reason="starting")
    driver.step()
    driver.step()
    assert caplog.messages == []


def test_that_its_jobs_wait_for_one_another_is_no_news_of_a_batch(
    store: Storage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "_MOMENT_S", 0.0)
    caplog.set_level("INFO", "kinetic.jobs")
    driver, backend = begun(store, 2, max_concurrent=None)
    backend.answer = lambda _: JobState(status=JobStatus.PENDING, reason=BEHIND_OTHERS)
    driver.step()
    driver.step()
    assert caplog.messages == []
