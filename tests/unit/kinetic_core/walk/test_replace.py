"""What the walk rebuilds, and what it leaves alone."""

import copy
import time
from collections import Counter, OrderedDict, defaultdict, namedtuple
from typing import Any, NamedTuple, Self

import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.walk import Replaced, replace


class Data:
    """Stands for what is replaced."""


def swap(*args: Any, **kwargs: Any) -> Replaced:
    return replace(args, kwargs, matches=lambda value: isinstance(value, Data), make=lambda _: "path")


def swapped(value: Any) -> Any:
    return swap(value).args[0]


class Point(NamedTuple):
    x: Any
    y: Any


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - the untyped kind is rebuilt too


class Stack(list[Any]):
    label: str


class Row(tuple[Any, ...]):
    __slots__ = ()


class Table(dict[str, Any]):
    pass


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Data(), "path"),
        ([1, Data()], [1, "path"]),
        ((Data(), 2), ("path", 2)),
        ({"a": Data(), 1: 2}, {"a": "path", 1: 2}),
        (OrderedDict(b=1, a=Data()), OrderedDict(b=1, a="path")),
        (Counter({"a": Data(), "b": 2}), Counter({"a": "path", "b": 2})),
        (Point(Data(), [Data()]), Point("path", ["path"])),
        (Pair(1, Data()), Pair(1, "path")),
        (Stack([Data()]), Stack(["path"])),
        (Row((Data(), 1)), Row(("path", 1))),
        (Table(a=Data()), Table(a="path")),
        (time.struct_time([2024, 1, 2, 3, 4, 5, 6, 7, Data()]), time.struct_time([2024, 1, 2, 3, 4, 5, 6, 7, "path"])),
    ],
)
def test_containers_are_rebuilt_as_their_own_type(given: Any, expected: Any) -> None:
    arrived = swapped(given)
    assert arrived == expected
    assert type(arrived) is type(expected)


def test_a_default_dict_keeps_its_factory() -> None:
    arrived = swapped(defaultdict(list, a=Data()))
    assert arrived["new"] == []
    assert arrived["a"] == "path"


def test_an_ordered_dict_keeps_its_order() -> None:
    ordered = OrderedDict(a=Data(), b=1)
    ordered.move_to_end("a")
    assert list(swapped(ordered).items()) == [("b", 1), ("a", "path")]


def test_keyword_arguments_are_replaced_too() -> None:
    assert swap(x=Data(), y=[Data()], z=1).kwargs == {"x": "path", "y": ["path"], "z": 1}


def test_a_call_without_a_match_is_passed_through_untouched() -> None:
    args, kwargs = ([1], {"a": (2,)}), {"k": [3]}
    replaced = replace(args, kwargs, matches=lambda _: False, make=lambda _: None)
    assert replaced.args is args
    assert replaced.kwargs is kwargs


def test_containers_without_a_match_stay_the_same_object_inside_rebuilt_ones() -> None:
    plain, members, key = [1, 2], {3}, (4, 5)
    arrived = swapped([plain, Data(), members, {key: 6}])
    assert arrived[0] is plain
    assert arrived[2] is members
    assert next(iter(arrived[3])) is key


def test_the_callers_objects_are_never_changed() -> None:
    data = Data()
    inner: list[Any] = [data]
    given = {"a": inner, "b": Stack([data])}
    before = copy.copy(given), list(inner)
    swap(given)
    assert (given, inner) == before
    assert given["b"][0] is data


def test_the_replacement_is_made_once_for_each_object_and_is_one_object() -> None:
    one, two = Data(), Data()
    made: list[object] = []

    def make(value: object) -> list[object]:
        made.append(value)
        return [value]

    replaced = replace(([one, two], one), {"x": one}, matches=lambda value: isinstance(value, Data), make=make)
    assert made == [one, two]
    assert replaced.args[0][0] is replaced.args[1]
    assert replaced.args[1] is replaced.kwargs["x"]


def test_what_was_passed_twice_arrives_as_one_object() -> None:
    shared = [Data()]
    arrived = swapped([shared, {"again": shared}, (shared,)])
    assert arrived[0] is arrived[1]["again"]
    assert arrived[0] is arrived[2][0]


def test_a_container_shared_between_arguments_arrives_as_one_object() -> None:
    shared = {"x": Data()}
    replaced = swap(shared, shared, k=shared)
    assert replaced.args[0] is replaced.args[1]
    assert replaced.args[0] is replaced.kwargs["k"]


def test_a_list_that_holds_itself_still_does() -> None:
    loop: list[Any] = [Data()]
    loop.append(loop)
    arrived = swapped(loop)
    assert arrived[0] == "path"
    assert arrived[1] is arrived


def test_cycles_through_dicts_lists_and_their_subclasses_survive() -> None:
    ordered: OrderedDict[str, Any] = OrderedDict()
    stack = Stack()
    default: defaultdict[str, Any] = defaultdict(int)
    ordered["stack"] = stack
    stack.append(default)
    default["back"] = ordered
    default["data"] = Data()
    stack.label = "kept"
    arrived = swapped(ordered)
    assert type(arrived) is OrderedDict
    assert type(arrived["stack"]) is Stack
    assert arrived["stack"].label == "kept"
    assert arrived["stack"][0]["back"] is arrived
    assert arrived["stack"][0]["data"] == "path"
    assert arrived["stack"][0]["other"] == 0


def test_a_container_outside_of_a_cycle_that_leads_into_it_is_rebuilt_around_it() -> None:
    loop: dict[str, Any] = {"d": Data()}
    loop["self"] = loop
    arrived = swapped((loop, [loop]))
    assert arrived[0]["self"] is arrived[0]
    assert arrived[1][0] is arrived[0]


def test_a_cycle_without_a_match_is_the_same_object() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert swapped([loop, Data()])[0] is loop


def test_instance_attributes_of_a_subclass_are_kept() -> None:
    stack = Stack([Data()])
    stack.label = "mine"
    assert swapped(stack).label == "mine"


def test_slots_of_a_subclass_are_kept_where_they_can_be_set() -> None:
    class Base(list[Any]):
        __slots__ = ("__hidden", "label", "unset")
        label: str

        def hide(self, value: str) -> None:
            self.__hidden = value

        def hidden(self) -> str:
            return self.__hidden

    class Slotted(Base):
        __slots__ = "single"  # noqa: PLC0205 - a single name may stand for itself
        single: str

    slotted = Slotted([Data()])
    slotted.label, slotted.single = "a", "b"
    slotted.hide("c")
    arrived = swapped(slotted)
    assert (arrived.label, arrived.single, arrived.hidden()) == ("a", "b", "c")
    assert not hasattr(arrived, "unset")


class Strict(list[Any]):
    def __init__(self, first: Any, second: Any) -> None:
        super().__init__([first, second])


class Forgetful(list[Any]):
    def __init__(self, _: Any = ()) -> None:
        super().__init__()


class Doubling(list[Any]):
    def __init__(self, items: Any = ()) -> None:
        super().__init__([copy.copy(item) for item in items])


class Elsewhere(dict[str, Any]):
    def __new__(cls, *_: Any) -> Any:
        return {}


class TwoFields(tuple[Any, ...]):
    __slots__ = ()

    def __new__(cls, left: Any, right: Any) -> Self:
        return super().__new__(cls, (left, right))


class Keyed(defaultdict[str, Any]):
    def __init__(self) -> None:
        super().__init__(list)


def keyed() -> Keyed:
    made = Keyed()
    made["a"] = Data()
    return made


class Copies:
    """Equal to its copies, so that only identity tells them apart."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Copies)

    def __hash__(self) -> int:
        return 0


def forgetful() -> Forgetful:
    made = Forgetful()
    list.append(made, Data())
    return made


def doubling() -> Doubling:
    made = Doubling()
    list.extend(made, [Copies(), Data()])
    return made


def elsewhere() -> Elsewhere:
    made: Elsewhere = dict.__new__(Elsewhere)
    made["a"] = Data()
    return made


@pytest.mark.parametrize(
    ("given", "plain", "name"),
    [
        (Strict(1, Data()), list, "Strict"),
        (forgetful(), list, "Forgetful"),
        (doubling(), list, "Doubling"),
        (elsewhere(), dict, "Elsewhere"),
        (TwoFields(1, Data()), tuple, "TwoFields"),
        (keyed(), dict, "Keyed"),
    ],
)
def test_a_subclass_that_cannot_be_rebuilt_becomes_the_plain_built_in_with_a_note(
    given: Any, plain: type, name: str
) -> None:
    replaced = swap({"x": [given]})
    arrived: Any = replaced.args[0]["x"][0]
    kind: object = type(arrived)
    assert kind is plain
    assert "path" in list(arrived.values() if isinstance(arrived, dict) else arrived)
    (note,) = replaced.notes
    assert f".{name} at arg 0['x'][0] arrives as a plain {plain.__name__}" in note


def test_a_subclass_in_a_cycle_that_cannot_be_made_empty_becomes_plain_with_a_note() -> None:
    strict = Strict(1, Data())
    strict.append(strict)
    replaced = swap(strict)
    arrived = replaced.args[0]
    assert type(arrived) is list
    assert arrived[2] is arrived
    assert len(replaced.notes) == 1


def test_a_subclass_in_a_cycle_that_is_never_empty_becomes_plain() -> None:
    class Prefilled(dict[str, Any]):
        def __init__(self) -> None:
            super().__init__(given="before")

    prefilled = Prefilled()
    prefilled["data"], prefilled["self"] = Data(), prefilled
    arrived = swapped(prefilled)
    assert type(arrived) is dict
    assert arrived == {"given": "before", "data": "path", "self": arrived}


def test_depth_is_not_limited_by_the_recursion_limit() -> None:
    deep: Any = [Data()]
    for _ in range(50_000):
        deep = [deep]
    arrived, depth = swapped(deep), 0
    while isinstance(arrived, list):
        arrived, depth = arrived[0], depth + 1
    assert (arrived, depth) == ("path", 50_001)


def test_nothing_is_made_when_the_call_is_refused() -> None:
    made: list[object] = []
    with pytest.raises(PackagingError, match="arg 1 is a set"):
        replace((Data(), {Data()}), {}, matches=lambda value: isinstance(value, Data), make=made.append)
    assert made == []
