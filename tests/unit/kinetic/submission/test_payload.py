"""What a call holds is learnt by writing it, or by a walk where writing cannot tell; the outcome is the same."""

import importlib
import pickle
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic.submission.pipeline import package_only
from kinetic_core.errors import PackagingError, SerializationError
from kinetic_core.model.package import Package
from kinetic_core.model.request import RunOptions
from kinetic_core.packaging import captured
from kinetic_core.references.data import Data

MANY: list[Any] = [{"id": number, "box": [number, 0.5]} for number in range(1_000)]
SOURCE = """
CAPTURED = None

def use(*values):
    return len(values)

def read(*values):
    return CAPTURED
"""
COUNTS = [0, 1_000]
"""Of arguments that writing meets before the one that matters."""


@attrs.frozen
class Packaging:
    """Packages calls from a project of its own."""

    root: Path
    out: Path

    module: Any

    def __call__(self, *args: Any, function: str = "use", **options: Any) -> Package:
        called = getattr(self.module, function)
        return package_only(called, args, {}, RunOptions(**options), self.out, report=False)

    def shipped(self) -> list[str]:
        with zipfile.ZipFile(self.out / "context.zip") as archive:
            return archive.namelist()

    def written(self) -> dict[str, Any]:
        payload: dict[str, Any] = pickle.loads((self.out / "payload.pkl").read_bytes())
        return payload


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packaging]:
    root = tmp_path / "project"
    (root / "data").mkdir(parents=True)
    (root / "data/x.txt").write_text("x")
    (root / "counting.py").write_text(SOURCE)
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(root)
    importlib.invalidate_caches()
    yield Packaging(root, tmp_path / "out", importlib.import_module("counting"))
    del sys.modules["counting"]


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note each walk over arguments, and each look at what a function captures."""
    replacing: Any = sys.modules["kinetic_core.walk.replace"]  # the package has a function of that name
    looking: Any = captured
    noted: list[int] = []
    survey, find = replacing.survey, looking.find

    def surveying(args: Any, kwargs: Any, **rest: Any) -> Any:
        noted.append(len(args))
        return survey(args, kwargs, **rest)

    def finding(args: Any, kwargs: Any, **rest: Any) -> Any:
        noted.append(-1)
        return find(args, kwargs, **rest)

    monkeypatch.setattr(replacing, "survey", surveying)
    monkeypatch.setattr(looking, "find", finding)
    return noted


def test_many_plain_arguments_are_not_walked(package: Packaging, walks: list[int]) -> None:
    package.module.CAPTURED = MANY
    package(MANY, function="read")
    assert walks == []
    assert package.written()["args"] == (MANY,)
    assert package.written()["has_data_refs"] is False


def test_few_arguments_are_walked_at_once_and_written_once(package: Packaging, walks: list[int]) -> None:
    package([1, 2], Data("data"))
    assert walks == [2]
    assert package.written()["has_data_refs"] is True


@pytest.mark.parametrize("form", ["pickle", "json"])
@pytest.mark.parametrize("count", COUNTS)
def test_data_among_them_is_replaced_and_kept_out_of_the_archive(package: Packaging, count: int, form: str) -> None:
    data = Data("data")
    made = package([*MANY[:count], {"deep": [data]}], data, serialization=form)
    assert len(made.references) == 1
    assert "data/x.txt" not in package.shipped()
    assert made.plan["excluded"]["data"] == 1
    if form == "pickle":
        payload = package.written()
        assert payload["args"][0][-1]["deep"][0] is payload["args"][1]
        assert payload["data_ref_ids"] == [payload["args"][1]["id"]]


@pytest.mark.parametrize("count", COUNTS)
def test_a_position_that_nothing_can_take_is_refused(package: Packaging, count: int) -> None:
    with pytest.raises(PackagingError, match=rf"arg 0\[{count}\] is a set"):
        package([*MANY[:count], {Data("data")}])
    assert not package.out.exists()


@pytest.mark.parametrize("count", COUNTS)
def test_a_refused_position_is_told_before_what_cannot_be_pickled(package: Packaging, count: int) -> None:
    with pytest.raises(PackagingError, match=r"arg 1 is a set"):
        package([*MANY[:count], threading.Lock()], {Data("data")})


@pytest.mark.parametrize("count", COUNTS)
def test_what_cannot_be_pickled_is_named(package: Packaging, count: int) -> None:
    with pytest.raises(SerializationError, match=rf"argument 0\[{count}\] \(type lock\)"):
        package([*MANY[:count], threading.Lock()], Data("data"))


@pytest.mark.parametrize("count", COUNTS)
def test_data_that_a_function_captures_is_refused_by_name(package: Packaging, count: int) -> None:
    package.module.CAPTURED = Data("data")
    with pytest.raises(SerializationError, match="global 'CAPTURED' of module counting"):
        package(MANY[:count], function="read")


class Holder:
    """Holds what no walk looks into."""

    def __init__(self, data: Data) -> None:
        self.data = data


@pytest.mark.parametrize("count", COUNTS)
def test_data_in_an_attribute_stays_what_it_is(package: Packaging, count: int) -> None:
    made = package(MANY[:count], Holder(Data("data")))
    assert made.references == ()
    assert "data/x.txt" in package.shipped()
    assert package.written()["args"][1].data.path == str(package.root / "data")


class Silent(list[Any]):
    """Tells pickling of nothing that it holds."""

    def __reduce__(self) -> Any:
        return Silent, ()


@pytest.mark.parametrize("count", COUNTS)
def test_a_container_that_hides_what_it_holds_is_walked(package: Packaging, count: int) -> None:
    made = package(MANY[:count], Silent([Data("data")]))
    assert len(made.references) == 1
