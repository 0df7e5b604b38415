"""The list of what jobs need: private, whole, and never waited for."""

import errno
import os
import stat
import time
from pathlib import Path

import pytest

from kinetic.submission.uses import Use, Uses, store_key
from tests.fakes.memory_storage import MemoryStorage


def use(number: int) -> Use:
    return Use(job_folder=f"job-{number}", keys=("c/base/context.zip",), at=float(number), result=f"job-{number}/r")


def test_what_is_noted_is_read_in_order(tmp_path: Path) -> None:
    uses = Uses(tmp_path / "uses")
    with uses.together() as undisturbed:
        assert undisturbed
        assert uses.read() == []
        for number in range(3):
            uses.add(use(number))
    assert uses.read() == [use(0), use(1), use(2)]
    uses.replace([use(2)])
    assert uses.read() == [use(2)]
    assert {stat.S_IMODE(path.stat().st_mode) for path in uses.folder.iterdir()} == {0o600}
    assert stat.S_IMODE(uses.folder.stat().st_mode) == 0o700


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    uses = Uses(tmp_path)
    (tmp_path / "uses").write_bytes(b'{"job_folder"\n[]\n{"at": 1}\n' + use(1).to_line() + use(2).to_line()[:20])
    assert uses.read() == [use(1)]


def test_a_pipe_in_its_place_is_an_error_and_waited_for_by_nobody(tmp_path: Path) -> None:
    uses = Uses(tmp_path)
    os.mkfifo(tmp_path / "uses")
    with pytest.raises(OSError, match="no file"):
        uses.read()
    with pytest.raises(OSError, match="No such device"):
        uses.add(use(1))


def test_a_line_cut_off_by_a_full_disk_is_told_of_and_spoils_no_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uses, write = Uses(tmp_path), os.write
    uses.add(use(1))
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda descriptor, data: write(descriptor, data[: len(data) // 2]))
        with pytest.raises(OSError, match="space") as told:
            uses.add(use(2))
    assert told.value.errno == errno.ENOSPC
    uses.add(use(3))
    assert uses.read() == [use(1), use(3)]


def test_submissions_go_together_and_cleaning_alone(tmp_path: Path) -> None:
    one, other = Uses(tmp_path), Uses(tmp_path)
    with one.together() as first, other.together() as second, one.alone() as alone:
        assert (first, second, alone) == (True, True, False)
    with one.alone() as alone, other.together() as first, other.alone() as second:
        assert (alone, first, second) == (True, False, False)


def test_without_a_private_folder_nothing_is_promised(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nowhere = Uses(tmp_path / "file" / "uses")
    with nowhere.together() as undisturbed:
        assert not undisturbed
    assert nowhere.read() == []
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with Uses(tmp_path / "link").together() as undisturbed:
        assert not undisturbed


def test_cleaning_is_due_once_in_a_while(tmp_path: Path) -> None:
    uses = Uses(tmp_path)
    assert uses.claim_cleaning(every_s=3600)
    assert not uses.claim_cleaning(every_s=3600)
    os.utime(tmp_path / "cleaned", (1, 1))
    assert uses.claim_cleaning(every_s=3600)
    # A clock that ran ahead and was put right.
    os.utime(tmp_path / "cleaned", (time.time() + 10**6,) * 2)
    assert uses.claim_cleaning(every_s=3600)
    assert not uses.claim_cleaning(every_s=3600)
    assert not Uses(tmp_path / "absent").claim_cleaning(every_s=3600)


def test_each_client_and_store_has_a_list_of_its_own() -> None:
    urls, clients = ("count://a", "count://b"), ("1/ada-00000001", "2/bob-00000002")
    assert len({store_key(MemoryStorage(url=url), client) for url in urls for client in clients}) == 4
