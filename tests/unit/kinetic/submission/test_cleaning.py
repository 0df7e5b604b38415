"""What contexts take in a store stays within bounds, and nothing goes that a job may still need."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic.submission.cleaning import LONGEST_S, Bounds, Cleaning
from kinetic.submission.contexts import start_cleaning
from kinetic.submission.uses import Use, Uses
from tests.fakes.memory_storage import MemoryStorage
from tests.fakes.threadless import no_more_threads

NOW_S = 1e9
DAY_S = 86_400.0
ME, OTHER, NEIGHBOUR = "1/me-00000001", "1/ada-0000a001", "2/bob-00000002"


@attrs.define
class World:
    uses: Uses
    storage: MemoryStorage = attrs.field(factory=MemoryStorage)

    def base(self, name: str, *, age_s: float, client: str = ME, size: int = 10) -> str:
        folder = f"cache/contexts/{client}/{name}"
        self.storage.objects[f"{folder}/context.zip"] = (b"x" * size, NOW_S - age_s)
        return folder

    def layer(self, folder: str, name: str, *, age_s: float) -> str:
        self.storage.objects[f"{folder}/{name}.layer"] = (b"y", NOW_S - age_s)
        return f"{folder}/{name}.layer"

    def job(self, name: str, *keys: str, age_s: float, ended: bool = False, gone: bool = False) -> None:
        with self.uses.together():
            self.uses.add(Use(job_folder=name, keys=keys, at=NOW_S - age_s, result=f"{name}/result.pkl"))
        if not gone:
            self.storage.objects[f"{name}/handle.json"] = (b"", NOW_S)
        if ended:
            self.storage.objects[f"{name}/result.pkl"] = (b"", NOW_S)

    def clean(self, **more: Any) -> None:
        bounds = more.pop("bounds", Bounds(bases=2, layers=2, size_bytes=1000))
        more = {"choose": lambda _: "f", **more}
        Cleaning(storage=self.storage, client=ME, uses=self.uses, now_s=NOW_S, bounds=bounds, **more).run()

    @property
    def left(self) -> list[str]:
        return sorted(key.split("/")[4] for key in self.storage.objects if key.endswith("/context.zip"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(Uses(tmp_path / "uses"))


def test_the_bases_used_last_stay(world: World) -> None:
    for number in range(5):
        world.base(f"b{number}", age_s=number * DAY_S)
    world.clean()
    assert world.left == ["b0", "b1"]
    assert ("delete_prefix", "cache/contexts/" + ME + "/b4") in world.storage.requests


def test_a_use_counts_more_than_an_upload(world: World) -> None:
    folders = [world.base(f"b{number}", age_s=(number + 1) * DAY_S) for number in range(4)]
    world.job("done", f"{folders[3]}/context.zip", age_s=0.5 * DAY_S, gone=True)
    world.clean()
    assert world.left == ["b0", "b3"]


def test_what_was_just_uploaded_may_be_part_of_a_submission_under_way(world: World) -> None:
    for number in range(5):
        world.base(f"b{number}", age_s=number * 3600)
    world.clean()
    assert len(world.left) == 5


def test_too_many_bytes_are_too_many(world: World) -> None:
    for number in range(3):
        world.base(f"b{number}", age_s=number * DAY_S, size=400)
    world.clean(bounds=Bounds(size_bytes=900))
    assert world.left == ["b0", "b1"]


def test_the_base_used_last_stays_however_large(world: World) -> None:
    for number in range(3):
        world.base(f"b{number}", age_s=(number + 1) * DAY_S, size=2000)
    world.clean()
    assert world.left == ["b0"]


def test_what_nobody_used_for_long_goes_though_there_is_room(world: World) -> None:
    world.base("old", age_s=LONGEST_S + 60)
    world.base("new", age_s=60)
    world.clean()
    assert world.left == ["new"]


@pytest.mark.parametrize(
    ("job", "stays"),
    [
        ({"age_s": 60.0, "gone": True}, True),
        ({"age_s": 2 * DAY_S}, True),
        ({"age_s": 2 * DAY_S, "gone": True}, False),
        ({"age_s": 0.5 * DAY_S, "ended": True}, True),
        ({"age_s": 2 * DAY_S, "ended": True}, False),
        ({"age_s": LONGEST_S + 60}, False),
    ],
    ids=["on its way", "live", "collected", "may be tried again", "ended", "forgotten"],
)
def test_what_a_live_job_needs_stays_beyond_all_bounds(world: World, job: dict[str, Any], stays: bool) -> None:
    folder = world.base("needed", age_s=3 * DAY_S)
    world.job("job", f"{folder}/context.zip", **job)
    for number in range(3):
        newer = world.base(f"b{number}", age_s=number)
        world.job(f"newer-{number}", f"{newer}/context.zip", age_s=number, gone=True)
    world.clean(bounds=Bounds(bases=3))
    assert ("needed" in world.left) == stays


def test_of_one_base_the_latest_layers_stay_and_what_a_job_needs(world: World) -> None:
    folder = world.base("base", age_s=DAY_S)
    layers = [world.layer(folder, f"l{number}", age_s=number * 60) for number in range(6)]
    world.job("job", f"{folder}/context.zip", layers[4], layers[5], age_s=2 * DAY_S)
    world.clean()
    assert [key for key in world.storage.objects if key.endswith(".layer")] == [*layers[:2], *layers[4:]]


def test_a_job_is_asked_after_only_when_its_context_is_in_question(world: World) -> None:
    folder = world.base("base", age_s=DAY_S)
    for number in range(9):
        world.job(f"job-{number}", f"{folder}/context.zip", age_s=2 * DAY_S)
    world.clean()
    assert [method for method, _ in world.storage.requests] == ["list", "list"]


def test_nothing_goes_while_somebody_submits(world: World) -> None:
    for number in range(5):
        world.base(f"b{number}", age_s=number * DAY_S)
    with world.uses.together():
        world.clean()
    assert len(world.left) == 5


def test_a_use_noted_since_the_first_look_counts(world: World) -> None:
    folders = [world.base(f"b{number}", age_s=number * DAY_S) for number in range(4)]

    class Late(MemoryStorage):
        def list(self, prefix: str = "") -> Any:
            world.job("late", f"{folders[3]}/context.zip", age_s=-1, gone=True)
            return super().list(prefix)

    world.storage = Late(objects=world.storage.objects)
    world.clean()
    assert "b3" in world.left


def test_old_uses_are_forgotten_and_not_more_than_so_many_are_remembered(world: World) -> None:
    folder = world.base("base", age_s=DAY_S)
    world.job("old", f"{folder}/context.zip", age_s=LONGEST_S + 60)
    for number in range(4):
        world.job(f"job-{number}", f"{folder}/context.zip", age_s=100 - number)
    world.clean(bounds=Bounds(uses=2))
    assert [use.job_folder for use in world.uses.read()] == ["job-2", "job-3"]


def test_of_others_only_what_nobody_relies_on_goes(world: World) -> None:
    for client in (OTHER, NEIGHBOUR):
        world.base("old", age_s=LONGEST_S + 60, client=client)
        world.base("half", age_s=LONGEST_S / 2, client=client)
        revived = world.base("revived", age_s=LONGEST_S + 60, client=client)
        world.layer(revived, "layer", age_s=60)
        world.base("timeless", age_s=NOW_S, client=client)
    world.clean(choose=lambda digits: digits[1])
    assert world.left == sorted(["half", "revived", "timeless"] * 2 + ["old"])
    assert f"cache/contexts/{NEIGHBOUR}/old/context.zip" in world.storage.objects


@pytest.mark.parametrize("refused", ["list", "delete_prefix", "exists"])
def test_a_store_that_refuses_is_left_alone(world: World, refused: str) -> None:
    folder = world.base("needed", age_s=3 * DAY_S)
    world.job("job", f"{folder}/context.zip", age_s=2 * DAY_S)
    for number in range(5):
        world.base(f"b{number}", age_s=number)
    world.storage.refused = {refused}
    world.clean()
    assert "needed" in world.left


def test_cleaning_starts_when_it_is_time_and_in_a_thread_of_its_own(world: World) -> None:
    for number in range(40):
        world.base(f"b{number:02}", age_s=number)
    with world.uses.together():
        pass
    thread = start_cleaning(world.storage, ME, world.uses)
    assert thread is not None
    assert thread.daemon
    thread.join(60)
    assert not thread.is_alive()
    assert start_cleaning(world.storage, ME, world.uses) is None
    # All were last used in 2001.
    assert world.left == []


def test_a_process_that_can_start_no_thread_submits_all_the_same(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    no_more_threads(monkeypatch)
    with world.uses.together():
        pass
    assert start_cleaning(world.storage, ME, world.uses) is None
