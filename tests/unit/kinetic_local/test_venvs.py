"""Which virtual environments are kept, and which may go."""

import fcntl
import os
import time
from pathlib import Path

from kinetic_local.usage import READY, hold, is_current, open_lock, try_alone
from kinetic_local.venvs import UNUSED_S, describe, kept_venvs, remove_venvs, tidy_venvs, without_credentials


def make(environments: Path, name: str, *, age_s: float = 0.0) -> Path:
    folder = environments / name
    folder.mkdir(parents=True)
    (folder / "module.py").write_text("x" * 100)
    describe(folder, python="/usr/bin/python3", requirements=f"of-{name}")
    os.utime(folder / READY, (time.time() - age_s,) * 2)
    return folder


def names(environments: Path) -> list[str]:
    return sorted(path.name for path in environments.iterdir())


def test_what_is_kept_is_told_the_last_used_first(tmp_path: Path) -> None:
    make(tmp_path, "old", age_s=100)
    make(tmp_path, "new")
    kept = kept_venvs(tmp_path)
    assert [(one.folder.name, one.python, one.requirements) for one in kept] == [
        ("new", "/usr/bin/python3", "of-new"),
        ("old", "/usr/bin/python3", "of-old"),
    ]
    assert all(one.size_bytes > 100 for one in kept)
    assert kept_venvs(tmp_path / "absent") == []


def test_a_use_counts_as_the_last_one(tmp_path: Path) -> None:
    folder = make(tmp_path, "a", age_s=1_000)
    lock = hold(str(folder))
    assert lock is not None
    os.close(lock)
    assert kept_venvs(tmp_path)[0].used_at_s > time.time() - 500


def test_what_is_not_ready_cannot_be_held_and_is_not_kept(tmp_path: Path) -> None:
    folder = make(tmp_path, "a")
    (folder / READY).unlink()
    assert hold(str(folder)) is None
    assert kept_venvs(tmp_path) == []
    assert remove_venvs(tmp_path) == []
    assert names(tmp_path) == []


def test_what_somebody_makes_cannot_be_held_yet(tmp_path: Path) -> None:
    folder = make(tmp_path, "a")
    lock = open_lock(str(folder))
    assert try_alone(lock)
    assert hold(str(folder)) is None
    fcntl.flock(lock, fcntl.LOCK_SH)
    second = hold(str(folder))
    assert second is not None
    assert not try_alone(second)
    os.close(second)
    os.close(lock)


def test_all_that_no_job_uses_is_removed(tmp_path: Path) -> None:
    used, _unused = make(tmp_path, "used"), make(tmp_path, "unused")
    lock = hold(str(used))
    assert lock is not None
    assert [one.folder.name for one in remove_venvs(tmp_path)] == ["unused"]
    assert names(tmp_path) == ["used", "used.lock"]
    os.close(lock)
    assert [one.folder.name for one in remove_venvs(tmp_path)] == ["used"]
    assert names(tmp_path) == []


def test_a_lock_whose_file_was_removed_is_no_lock_any_more(tmp_path: Path) -> None:
    folder = make(tmp_path, "a")
    lock = open_lock(str(folder))
    assert is_current(f"{folder}.lock", lock)
    remove_venvs(tmp_path)
    assert not is_current(f"{folder}.lock", lock)
    make(tmp_path, "a")
    other = open_lock(str(folder))
    assert not is_current(f"{folder}.lock", lock)
    os.close(lock)
    os.close(other)


def test_what_is_too_much_or_too_old_goes_but_nothing_in_use(tmp_path: Path) -> None:
    make(tmp_path, "ancient", age_s=UNUSED_S + 10)
    for age in range(4):
        make(tmp_path, f"used-{age}-ago", age_s=age)
    (make(tmp_path, "half") / READY).unlink()
    # Holding it would count as a use.
    lock = open_lock(f"{tmp_path}/used-3-ago")
    fcntl.flock(lock, fcntl.LOCK_SH)
    tidy_venvs(tmp_path, most=2)
    assert [name for name in names(tmp_path) if not name.endswith(".lock")] == [
        "used-0-ago",
        "used-1-ago",
        "used-3-ago",
    ]
    os.close(lock)


def test_a_link_in_the_place_of_an_environment_is_left_alone(tmp_path: Path) -> None:
    elsewhere = make(tmp_path / "elsewhere", "a")
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments/a").symlink_to(elsewhere)
    assert remove_venvs(tmp_path / "environments") == []
    tidy_venvs(tmp_path / "environments", most=0)
    assert (elsewhere / "module.py").exists()


def test_credentials_are_left_out_of_what_is_shown() -> None:
    assert without_credentials("a @ git+https://u:p@example.org/a b") == "a @ git+https://***@example.org/a b"
