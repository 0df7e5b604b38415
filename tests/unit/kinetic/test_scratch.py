"""A client's private directories go when it does, however it goes."""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetic import scratch as module
from kinetic.scratch import scratch, sweep

HOLD = "import sys\nfrom kinetic.scratch import scratch\nwith scratch() as made:\n    print(made, flush=True)\n    "


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    module._sweep_once.cache_clear()
    yield tmp_path
    module._sweep_once.cache_clear()


def start(place: Path, then: str) -> "subprocess.Popen[str]":
    environ = {**os.environ, "TMPDIR": str(place)}
    return subprocess.Popen(
        [sys.executable, "-c", HOLD + then], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def age(path: Path) -> None:
    os.utime(path, (0, 0))


def test_it_is_private_and_gone_afterwards(place: Path) -> None:
    with scratch() as made:
        made.joinpath("file").touch()
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert list(place.iterdir()) == []


def test_that_of_a_killed_client_is_removed_by_the_next(place: Path) -> None:
    with start(place, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)") as killed:
        assert killed.stdout is not None
        left = Path(killed.stdout.readline().strip())
    assert left.is_dir()
    age(left)
    with scratch() as made:
        assert list(place.iterdir()) == [made]


def test_that_of_a_living_client_stays_however_old(place: Path) -> None:
    with start(place, "sys.stdin.read()") as living:
        assert living.stdout is not None
        held = Path(living.stdout.readline().strip())
        age(held)
        assert sweep(place, before_s=time.time()) == 0
        assert held.is_dir()


def test_young_foreign_and_linked_ones_stay(place: Path) -> None:
    for name in ("kinetic-client-young", "kinetic-other"):
        place.joinpath(name).mkdir()
    age(place / "kinetic-other")
    place.joinpath("kinetic-client-link").symlink_to(place / "kinetic-other")
    place.joinpath("kinetic-client-file").touch()
    assert sweep(place, before_s=1.0) == 0
    assert len(list(place.iterdir())) == 4


def test_a_place_that_cannot_be_listed_stops_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module._sweep_once(str(place / "gone"))
    with scratch() as made:
        assert made.is_dir()
