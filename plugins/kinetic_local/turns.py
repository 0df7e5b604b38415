"""Turns: at most so many jobs run at once, the others start in the order they were submitted.

A waiting job holds a locked ticket in a folder, a running one a locked slot. Locks die with their holder,
so nothing has to be cleaned up and no daemon has to watch.
"""

import fcntl
import os
import time

from kinetic_local.descriptors import clear_of_streams
from kinetic_local.locks import is_locked, try_lock

_SLOT = "slot-"


def draw_ticket(folder: str, job_id: str) -> tuple[str, int]:
    """Put a locked ticket behind all others; return its name and the descriptor that holds the lock."""
    hidden = f"{folder}/.{job_id}-{os.urandom(4).hex()}"
    descriptor = clear_of_streams(os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    # Renamed only once it is locked: a visible ticket without a lock is a dead one.
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    name = f"{time.time_ns():020d}-{job_id}"
    os.rename(hidden, f"{folder}/{name}")  # noqa: PTH104 - pathlib would double the supervisor's start
    return name, descriptor


def drop_ticket(folder: str, name: str) -> None:
    """Take a ticket out of the folder."""
    try:  # noqa: SIM105 - contextlib is not there yet when the supervisor starts
        os.unlink(f"{folder}/{name}")  # noqa: PTH108 - nor is pathlib
    except FileNotFoundError:
        pass


def take_slot(folder: str, ticket: str, limit: int) -> int | None:
    """Exchange the ticket for a slot when it is its turn and a slot is free.

    Returns:
        The descriptor that holds the slot, or `None`: wait and ask again.
    """
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - as above
        if name >= ticket or name.startswith(_SLOT):
            break
        if name.startswith("."):
            continue
        if is_locked(f"{folder}/{name}"):
            return None
        drop_ticket(folder, name)
    for number in range(limit):
        slot = try_lock(f"{folder}/{_SLOT}{number}")
        if slot is not None:
            drop_ticket(folder, ticket)
            return slot
    return None
