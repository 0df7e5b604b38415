"""Data that a job found damaged counts as absent afterwards; no other does."""

import pytest

from kinetic.jobs.cached import forget_damaged
from kinetic_core.wire.result import Result
from tests.fakes.memory_storage import MemoryStorage

SHA256 = "0a" * 32
OTHER = "0b" * 32


def result(text: str, phase: str = "data resolve") -> Result:
    return Result(success=False, result=None, exception=ValueError(text), traceback=None, phase=phase, host_index=0)


@pytest.fixture
def storage() -> MemoryStorage:
    keys = [f"cache/{sha256}{rest}" for sha256 in (SHA256, OTHER) for rest in (".complete", "/model.bin")]
    return MemoryStorage(objects=dict.fromkeys(keys, (b"x", 0.0)))


@pytest.mark.parametrize("name", ["model.bin", ""])
def test_the_mark_of_damaged_data_goes_and_its_content_stays(storage: MemoryStorage, name: str) -> None:
    said = forget_damaged(result(f"count://store/cache/{SHA256}/{name} is damaged in the store: its"), storage)
    assert "submit again, and it is uploaded anew" in said
    assert sorted(storage.objects) == [
        f"cache/{SHA256}/model.bin",
        f"cache/{OTHER}.complete",
        f"cache/{OTHER}/model.bin",
    ]


@pytest.mark.parametrize(
    "failed",
    [
        result(f"count://store/cache/{SHA256}/model.bin is damaged", phase="execute"),
        result(f"count://store/cache/{SHA256}/model.bin is not there"),
        result(f"count://elsewhere/cache/{SHA256}/model.bin is damaged"),
        result("count://store/cache/../../jobs/model.bin is damaged"),
    ],
)
def test_where_no_cached_data_is_to_blame_all_stays(storage: MemoryStorage, failed: Result) -> None:
    assert forget_damaged(failed, storage) == ""
    assert len(storage.objects) == 4


def test_a_store_that_refuses_is_told_of(storage: MemoryStorage) -> None:
    storage.refused = {"delete_prefix"}
    said = forget_damaged(result(f"count://store/cache/{SHA256}/model.bin is damaged"), storage)
    assert f"count://store/cache/{SHA256}.complete, which says otherwise, stays: 403" in said
