"""What the walk finds, where, and what it refuses."""

from collections import Counter, OrderedDict, UserDict, defaultdict, namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.walk import find


class Data:
    """Stands for what is looked for."""


def is_data(value: object) -> bool:
    return isinstance(value, Data)


def positions(*args: Any, **kwargs: Any) -> list[str]:
    return [found.position for found in find(args, kwargs, matches=is_data)]


class Files(NamedTuple):
    train: Any
    test: Any


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - the untyped kind is walked too


@pytest.mark.parametrize(
    ("value", "position"),
    [
        (Data(), "arg 0"),
        ([1, Data()], "arg 0[1]"),
        ((Data(),), "arg 0[0]"),
        ({"a": {"b": [Data()]}}, "arg 0['a']['b'][0]"),
        ({3: Data()}, "arg 0[3]"),
        (OrderedDict(x=Data()), "arg 0['x']"),
        (defaultdict(list, x=[Data()]), "arg 0['x'][0]"),
        (Counter({"x": Data()}), "arg 0['x']"),
        (Files(1, Data()), "arg 0[1]"),
        (Pair([Data()], 2), "arg 0[0][0]"),
    ],
)
def test_a_match_is_found_in_every_container_that_is_walked(value: Any, position: str) -> None:
    assert positions(value) == [position]


def test_positions_of_keyword_arguments_name_the_keyword() -> None:
    assert positions(1, cfg={"x": Data()}) == ["kwarg 'cfg'['x']"]


def test_matches_come_in_the_order_of_the_arguments() -> None:
    assert positions([Data(), {"k": Data()}, Data()], Data(), z=Data()) == [
        "arg 0[0]",
        "arg 0[1]['k']",
        "arg 0[2]",
        "arg 1",
        "kwarg 'z'",
    ]


def test_one_object_passed_twice_is_found_once_at_its_first_place() -> None:
    data = Data()
    found = find(([data], data), {"x": data}, matches=is_data)
    assert [(one.position, one.value) for one in found] == [("arg 0[0]", data)]


def test_a_container_passed_twice_is_walked_once() -> None:
    asked: list[object] = []

    def matches(value: object) -> bool:
        asked.append(value)
        return False

    inner = ["only"]
    find((inner, [inner]), {}, matches=matches)
    assert asked.count("only") == 1


def test_a_match_is_asked_about_before_it_is_descended_into() -> None:
    reference = {"uri": "x", "inner": {"uri": "y"}}
    found = find((reference,), {}, matches=lambda value: isinstance(value, dict) and "uri" in value)
    assert [one.position for one in found] == ["arg 0"]


def test_attributes_of_other_objects_are_not_walked() -> None:
    @dataclass
    class Config:
        data: Any

    assert positions(Config(Data()), UserDict({"x": Data()}), iter([Data()])) == []


def test_an_object_that_only_claims_to_be_a_list_is_not_walked() -> None:
    class Claims:
        __class__ = list  # type: ignore[assignment]

    assert positions(Claims()) == []


def test_what_a_subclass_really_holds_is_walked_whatever_its_iteration_says() -> None:
    class Shy(list[Any]):
        def __iter__(self) -> Any:
            return iter(())

    assert positions(Shy([Data()])) == ["arg 0[0]"]


def test_an_ordered_dict_is_walked_in_its_own_order() -> None:
    ordered = OrderedDict(a=Data(), b=Data())
    ordered.move_to_end("a")
    assert positions(ordered) == ["arg 0['b']", "arg 0['a']"]


def test_depth_is_not_limited_by_the_recursion_limit() -> None:
    deep: Any = [Data()]
    for _ in range(50_000):
        deep = [deep]
    (found,) = find((deep,), {}, matches=is_data)
    assert found.position == "arg 0" + "[0]" * 50_001


def test_a_key_whose_text_is_endless_is_shortened() -> None:
    (position,) = positions({"k" * 1_000: Data()})
    assert len(position) < 100
    assert position.endswith("…]")


def test_a_key_whose_text_fails_is_named_by_its_type() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError

    assert positions({Mute(): Data()}) == ["arg 0[<Mute>]"]


@pytest.mark.parametrize(
    ("value", "position"),
    [
        ({Data()}, "arg 0 is a set"),
        ({"a": frozenset([Data()])}, "arg 0['a'] is a set"),
        ([{(1, (Data(),))}], "arg 0[0] is a set"),
        ({"a": [{frozenset([(Data(),)])}]}, "arg 0['a'][0] is a set"),
    ],
)
def test_a_match_in_a_set_is_refused_by_position_at_any_depth(value: Any, position: str) -> None:
    with pytest.raises(PackagingError) as refused:
        positions(value)
    assert str(refused.value).startswith(position)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("value", [{Data(): 1}, {(1, Data()): 1}, {(1, (2, Data())): 1}, {frozenset([Data()]): 1}])
def test_a_match_in_a_key_is_refused_by_position_also_inside_tuples(value: Any) -> None:
    with pytest.raises(PackagingError, match=r"arg 0\['x'\] has a key that is or holds a Data"):
        positions({"x": value})


def test_a_match_that_is_met_elsewhere_before_its_set_is_refused_all_the_same() -> None:
    shared = (Data(),)
    with pytest.raises(PackagingError, match=r"arg 1 is a set"):
        positions(shared, {shared})


def test_a_match_that_is_met_elsewhere_before_its_key_is_refused_all_the_same() -> None:
    shared = (Data(),)
    with pytest.raises(PackagingError, match=r"arg 1 has a key"):
        positions(shared, {shared: 1})


def test_all_refusals_are_told_together() -> None:
    with pytest.raises(PackagingError) as refused:
        positions({Data()}, {Data(): 1})
    assert [line.split(" is ")[0].split(" has ")[0] for line in str(refused.value).splitlines()] == ["arg 0", "arg 1"]


def test_sets_and_keys_without_a_match_are_fine_beside_one() -> None:
    assert positions({1, (2, 3)}, {(1, 2): 3, frozenset([4]): 5}, Data()) == ["arg 2"]


def through_tuple() -> Any:
    inner: list[Any] = []
    outer = (inner,)
    inner.append(outer)
    return outer


def through_frozenset() -> Any:
    class Hashable(list[Any]):
        __hash__ = object.__hash__  # type: ignore[assignment]  # lists say that they have none

    inner = Hashable()
    outer = frozenset([inner])
    inner.append(outer)
    return outer


@pytest.mark.parametrize("cycle", [through_tuple(), through_frozenset()])
def test_a_cycle_through_a_tuple_or_set_is_refused_only_beside_a_match(cycle: Any) -> None:
    assert positions({"c": cycle}) == []
    with pytest.raises(PackagingError, match=r"arg 0\['c'\] is a tuple or set that holds itself"):
        positions({"c": cycle}, Data())


def test_a_cycle_through_a_tuple_is_refused_wherever_the_walk_enters_it() -> None:
    entry: list[Any] = []
    first: list[Any] = [entry]
    entry += [first, (first,)]
    with pytest.raises(PackagingError, match=r"arg 0\[1\] is a tuple or set that holds itself"):
        positions(entry, Data())


def test_cycles_through_lists_and_dicts_are_walked_once() -> None:
    mapping: dict[str, Any] = {}
    mapping["self"] = [mapping, Data()]
    assert positions(mapping) == ["arg 0['self'][1]"]
