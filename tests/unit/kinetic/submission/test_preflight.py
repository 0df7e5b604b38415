"""A store is asked for all that a job needs of it, and not at every submission."""

import os
import stat
from pathlib import Path

import attrs
import pytest

from kinetic.submission.preflight import GOOD_FOR_S, ensure_usable, probe
from kinetic_core.errors import PreflightError, StorageError
from kinetic_core.model.request import Surroundings
from tests.fakes.memory_storage import MemoryStorage


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def here(cache: Path) -> Surroundings:
    return Surroundings(environ={}, home=cache, cwd=cache, sys_path=())


@pytest.fixture
def store() -> MemoryStorage:
    return MemoryStorage(url="memory://store", objects={"mine": (b"1", 0)})


def marks(cache: Path) -> list[Path]:
    return list((cache / "kinetic-run/checks").iterdir())


def test_every_step_is_tried_and_nothing_is_left(store: MemoryStorage) -> None:
    steps: list[str] = []
    probe(store, passed=steps.append)
    assert steps == ["write", "read", "list", "delete"]
    assert set(store.objects) == {"mine"}


@pytest.mark.parametrize(
    ("method", "step"), [("put_bytes", "write"), ("get_bytes", "read"), ("list", "list"), ("delete_prefix", "delete")]
)
def test_the_step_that_a_store_refuses_is_named(store: MemoryStorage, method: str, step: str) -> None:
    store.refused = {method}
    with pytest.raises(
        PreflightError, match=rf"memory://store cannot be used, at the step '{step}': .*; make it usable"
    ):
        probe(store)
    left = set(store.objects) - {"mine"}
    assert len(left) == (method == "delete_prefix")


@pytest.mark.parametrize(
    ("problem", "remedy"),
    [
        ("bucket", "create it, or correct the URL"),
        ("clock", "this machine's clock differs"),
        ("credentials", "log in again"),
        ("network", "cannot be reached"),
        ("permission", "ask for the permission"),
        ("", "make it usable"),
    ],
)
def test_each_kind_of_failure_has_its_remedy(
    store: MemoryStorage, problem: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        error = StorageError("cannot write memory://store/x: no")
        error.problem = problem
        raise error

    monkeypatch.setattr(MemoryStorage, "put_bytes", refuse)
    with pytest.raises(PreflightError, match=remedy):
        probe(store)


def test_a_store_that_gives_back_other_bytes_is_not_used(store: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryStorage, "get_bytes", lambda *_: b"other")
    with pytest.raises(PreflightError, match="'read': it gave back other bytes"):
        probe(store)
    assert set(store.objects) == {"mine"}


def test_a_store_that_passed_is_not_asked_again_for_a_few_minutes(
    store: MemoryStorage, here: Surroundings, cache: Path
) -> None:
    ensure_usable(store, here)
    store.refused = {"put_bytes"}
    ensure_usable(store, here)
    (mark,) = marks(cache)
    assert stat.S_IMODE(mark.parent.stat().st_mode) == 0o700
    old_s = mark.stat().st_mtime - GOOD_FOR_S - 1
    os.utime(mark, (old_s, old_s))
    with pytest.raises(PreflightError):
        ensure_usable(store, here)


def test_a_store_that_did_not_pass_is_asked_again(store: MemoryStorage, here: Surroundings) -> None:
    store.refused = {"put_bytes"}
    for _ in range(2):
        with pytest.raises(PreflightError):
            ensure_usable(store, here)
    store.refused = set()
    ensure_usable(store, here)


@pytest.mark.parametrize(
    "environ",
    [{"AWS_PROFILE": "other"}, {"KINETIC_STORAGE_OPTIONS": '{"memory": {"key": "2"}}'}, {"KINETIC_CACHE": "off"}],
)
def test_other_access_is_asked_anew(store: MemoryStorage, here: Surroundings, environ: dict[str, str]) -> None:
    other = attrs.evolve(here, environ=environ)
    ensure_usable(store, other if "KINETIC_CACHE" in environ else here)
    store.refused = {"put_bytes"}
    with pytest.raises(PreflightError):
        ensure_usable(store, other)


def test_no_secret_stands_in_what_is_kept(store: MemoryStorage, here: Surroundings, cache: Path) -> None:
    ensure_usable(store, attrs.evolve(here, environ={"AWS_SECRET_ACCESS_KEY": "hush-hush"}))
    (mark,) = marks(cache)
    assert "hush" not in mark.name
    assert mark.read_bytes() == b""
