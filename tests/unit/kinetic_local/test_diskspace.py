"""Whether a disk is full."""

import os
from pathlib import Path

from kinetic_local.diskspace import full_place


def test_a_disk_with_room_is_not_full(tmp_path: Path) -> None:
    assert full_place([str(tmp_path), str(tmp_path / "gone")]) is None


def test_the_first_place_without_room_is_named(tmp_path: Path) -> None:
    disk = os.statvfs(tmp_path)
    more = disk.f_blocks * disk.f_frsize + 1
    assert full_place([str(tmp_path / "gone"), str(tmp_path)], least_bytes=more) == str(tmp_path)
