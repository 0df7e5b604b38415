"""Looking into a payload without loading it."""

import io
import pickle
from pathlib import Path
from types import FunctionType
from typing import Any

import cloudpickle
import pytest

from kinetic_runner.preview import first_items, inert
from tests.system.runner.artifacts import pickled, script

HEAD: dict[str, Any] = {
    "client_fingerprint": {"python": "3.11.7"},
    "env_vars": {"A": "1", "B": "1"},
    "data_ref_ids": ["x"],
}


def write(path: Path, value: Any) -> Path:
    path.write_bytes(pickled(value))
    return path


def test_items_before_the_first_import_are_read_and_nothing_is_imported(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return tmp_path.joinpath("sprung").touch, ()

    path = write(tmp_path / "p", {**HEAD, "func": Trap(), "args": (), "later": 1})
    assert first_items(path) == HEAD
    assert not tmp_path.joinpath("sprung").exists()


class Itemwise:
    """Pickles as the client's payload does: a dict that is made first and filled item by item."""

    def __init__(self, items: dict[str, Any]) -> None:
        self.items = items

    def __reduce__(self) -> Any:
        return dict, (), None, None, iter(self.items.items())


def test_a_dict_that_is_filled_item_by_item_is_read_too(tmp_path: Path) -> None:
    assert first_items(write(tmp_path / "p", Itemwise({**HEAD, "func": len, "args": ()}))) == HEAD


def test_items_of_many_batches_are_read(tmp_path: Path) -> None:
    many = {f"k{number}": number for number in range(2_500)}
    assert first_items(write(tmp_path / "p", {**many, "func": len})) == many


def test_no_more_is_read_than_the_first_items_take(tmp_path: Path) -> None:
    path = write(tmp_path / "p", {**HEAD, "func": len, "args": (b"x" * 4_000_000,)})
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"x" * 100)])
    assert first_items(path) == HEAD


@pytest.mark.parametrize("value", [{"func": len}, [1], 5, {"a": 1}, {(1, 2): 3, "func": len}])
def test_a_payload_that_does_not_begin_that_way_gives_nothing_of_use(tmp_path: Path, value: Any) -> None:
    assert "env_vars" not in first_items(write(tmp_path / "p", value))


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x09."])
def test_what_is_no_pickle_gives_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p"
    path.write_bytes(content)
    assert first_items(path) == {}
    assert inert(path) == {}


class Anything:
    """Exercises everything that a pickle can do to an object."""

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __reduce__(self) -> Any:
        return NotHere, (1,), {"state": 1}, iter([1, 2]), iter([("k", "v")])


class Chained:
    """Is made by calling what another call returned."""

    def __reduce__(self) -> Any:
        return Partial(), (1,)


class Mapped:
    """Is made into a dict."""

    def __reduce__(self) -> Any:
        return dict, (Anything(),)


class Partial:
    def __call__(self, *_: Any) -> Any:
        raise AssertionError

    def __reduce__(self) -> Any:
        return Partial, ()


class NotHere:
    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setitem__(self, _: Any, __: Any) -> None: ...

    def extend(self, _: Any) -> None: ...


class Keyworded:
    def __getnewargs_ex__(self) -> Any:
        return (1,), {"x": 2}


def everything() -> dict[str, Any]:
    return {
        **HEAD,
        "func": script("def f():\n    return f\n")["f"],
        "objects": [Anything(), Keyworded(), {Anything(): 1}, {1, 2}, Path("/x"), Chained(), Mapped()],
    }


def test_a_payload_is_read_with_nothing_real_inside(tmp_path: Path) -> None:
    seen = inert(write(tmp_path / "p", everything()))
    assert {key: seen[key] for key in HEAD} == HEAD
    assert not isinstance(seen["func"], FunctionType)
    assert not any(isinstance(one, Anything | NotHere | Keyworded | Path) for one in seen["objects"])


def test_objects_of_older_protocols_are_read_too(tmp_path: Path) -> None:
    class Persistent(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            return "p" if obj is len else None

    for protocol in range(5):
        stream = io.BytesIO()
        Persistent(stream, protocol=protocol).dump({**HEAD, "objects": [Anything(), len, {3}]})
        path = tmp_path / "p"
        path.write_bytes(stream.getvalue())
        assert inert(path)["env_vars"] == HEAD["env_vars"]


def by_value() -> list[Any]:
    """Return classes that travel by value, and what is made of them."""
    namespace = script(
        "import dataclasses, enum, collections\n"
        "@dataclasses.dataclass\nclass Record:\n    x: int = 0\n"
        "@dataclasses.dataclass(frozen=True, slots=True)\nclass Frozen:\n    x: int = 0\n"
        "class Color(enum.Enum):\n    RED = 1\n"
        "class Listed(list):\n    pass\n"
        "class Keyed(dict):\n    pass\n"
        "class Keyword:\n    def __getnewargs_ex__(self):\n        return (), {'x': 1}\n"
        "    def __new__(cls, **_):\n        return super().__new__(cls)\n"
        "Pair = collections.namedtuple('Pair', 'a b')\n"
        "class Error(Exception):\n    pass\n"
    )
    make = namespace.__getitem__
    return [
        make("Record")(1),
        make("Frozen")(2),
        {make("Frozen")(2): make("Color").RED},
        make("Listed")([1]),
        make("Keyed")(a=1),
        make("Keyword")(),
        make("Pair")(1, 2),
        make("Error")("no"),
    ]


@pytest.mark.parametrize("index", range(len(by_value())))
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_is_made_of_a_class_that_travels_by_value_hides_nothing(tmp_path: Path, index: int, protocol: int) -> None:
    path = tmp_path / "p"
    path.write_bytes(cloudpickle.dumps({"args": (by_value()[index],), **HEAD}, protocol=protocol))
    seen = inert(path)
    assert {key: seen.get(key) for key in HEAD} == HEAD


def test_what_is_no_dict_is_no_payload(tmp_path: Path) -> None:
    assert inert(write(tmp_path / "p", [1])) == {}
