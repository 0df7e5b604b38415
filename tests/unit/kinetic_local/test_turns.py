import os
import subprocess
import sys
from pathlib import Path

import pytest

from kinetic_local.locks import is_locked, try_lock
from kinetic_local.turns import draw_ticket, drop_ticket, take_slot
from tests.fakes.holding import opened_below


@pytest.fixture
def queue(tmp_path: Path) -> str:
    return str(tmp_path)


def names(queue: str) -> list[str]:
    return sorted(path.name for path in Path(queue).iterdir())


def test_a_lock_is_held_until_its_descriptor_closes(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    held = try_lock(path)
    assert held is not None
    assert is_locked(path)
    assert try_lock(path) is None
    os.close(held)
    assert not is_locked(path)


def test_an_absent_file_is_not_locked_and_not_made(tmp_path: Path) -> None:
    assert not is_locked(str(tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []


def test_looking_leaves_no_descriptor_open(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    held = try_lock(path)
    assert held is not None
    is_locked(path)
    try_lock(path)
    assert opened_below(tmp_path) == [path]
    os.close(held)
    assert opened_below(tmp_path) == []


def test_a_ticket_is_locked_as_soon_as_it_can_be_seen(queue: str) -> None:
    name, lock = draw_ticket(queue, "job-1")
    assert names(queue) == [name]
    assert is_locked(f"{queue}/{name}")
    os.close(lock)


def test_the_first_ticket_is_exchanged_for_a_slot(queue: str) -> None:
    name, lock = draw_ticket(queue, "job-1")
    slot = take_slot(queue, name, 1)
    assert slot is not None
    assert names(queue) == ["slot-0"]
    assert is_locked(f"{queue}/slot-0")
    for descriptor in (slot, lock):
        os.close(descriptor)


def test_a_later_ticket_waits_for_the_earlier_even_when_slots_are_free(queue: str) -> None:
    (first, first_lock), (second, second_lock) = draw_ticket(queue, "job-1"), draw_ticket(queue, "job-2")
    assert take_slot(queue, second, 2) is None
    slots = [take_slot(queue, first, 2), take_slot(queue, second, 2)]
    assert None not in slots
    for descriptor in (first_lock, second_lock, *slots):
        assert descriptor is not None
        os.close(descriptor)


def test_nobody_gets_a_slot_beyond_the_limit(queue: str) -> None:
    (first, first_lock), (second, second_lock) = draw_ticket(queue, "job-1"), draw_ticket(queue, "job-2")
    slot = take_slot(queue, first, 1)
    assert slot is not None
    assert take_slot(queue, second, 1) is None
    os.close(slot)
    slot = take_slot(queue, second, 1)
    assert slot is not None
    for descriptor in (first_lock, second_lock, slot):
        os.close(descriptor)


def test_the_ticket_of_somebody_who_died_is_passed_over_and_removed(queue: str) -> None:
    (dead, dead_lock), (name, lock) = draw_ticket(queue, "job-1"), draw_ticket(queue, "job-2")
    os.close(dead_lock)
    slot = take_slot(queue, name, 1)
    assert slot is not None
    assert dead not in names(queue)
    for descriptor in (lock, slot):
        os.close(descriptor)


def test_a_ticket_that_is_only_being_drawn_holds_nobody_up(queue: str) -> None:
    (Path(queue) / ".job-0-abcd").touch()
    name, lock = draw_ticket(queue, "job-1")
    slot = take_slot(queue, name, 1)
    assert slot is not None
    assert names(queue) == [".job-0-abcd", "slot-0"]
    for descriptor in (lock, slot):
        os.close(descriptor)


def test_dropping_a_ticket_twice_is_no_error(queue: str) -> None:
    name, lock = draw_ticket(queue, "job-1")
    drop_ticket(queue, name)
    drop_ticket(queue, name)
    assert names(queue) == []
    os.close(lock)


def test_no_lock_stands_in_the_place_of_a_standard_stream(queue: str) -> None:
    client = (
        "import os, sys; from kinetic_local.locks import try_lock; from kinetic_local.turns import draw_ticket;"
        "from kinetic_local.pod import open_log; queue = sys.argv[1];"
        "told = os.dup(1); os.closerange(0, 3);"
        "numbers = [try_lock(f'{queue}/lock'), draw_ticket(queue, 'job-1')[1], open_log(queue)];"
        "os.write(told, repr((min(numbers) > 2, [os.get_inheritable(one) for one in numbers])).encode());"
        "from kinetic_local.locks import is_locked;"
        "os.write(told, repr(is_locked(f'{queue}/lock')).encode()); os._exit(0)"
    )
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", client, queue], env=environ, check=True, capture_output=True)
    assert ended.stdout.decode() == "(True, [False, False, False])True"
