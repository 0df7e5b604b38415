"""The walk on generated arguments, against a plain recursive model and against pickle's view of a value."""

import pickle
from collections import OrderedDict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.walk import find, replace


class Mark:
    """What is looked for."""

    def __init__(self, number: int) -> None:
        self.number = number


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.builds(Mark, st.integers(0, 9)))
KEYS = st.one_of(st.text(max_size=2), st.integers(0, 5), st.tuples(st.integers(0, 3)))
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.dictionaries(KEYS, inner, max_size=3).map(OrderedDict),
        st.frozensets(st.integers(), max_size=3),
    ),
    max_leaves=25,
)


def is_mark(value: object) -> bool:
    return isinstance(value, Mark)


def model(value: Any) -> Any:
    """Replace by plain recursion."""
    if isinstance(value, Mark):
        return ("mark", value.number)
    if isinstance(value, dict):
        return type(value)((key, model(item)) for key, item in value.items())
    return type(value)(model(item) for item in value) if isinstance(value, list | tuple) else value


def marks(value: Any) -> list[Mark]:
    if isinstance(value, Mark):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [mark for item in items for mark in marks(item)]


@given(st.lists(NESTED, max_size=3), st.dictionaries(st.text(max_size=3), NESTED, max_size=2))
def test_replacing_gives_what_plain_recursion_gives(args: list[Any], kwargs: dict[str, Any]) -> None:
    replaced = replace(tuple(args), kwargs, matches=is_mark, make=lambda mark: ("mark", mark.number))
    assert replaced.args == tuple(model(value) for value in args)
    assert replaced.kwargs == {name: model(value) for name, value in kwargs.items()}
    assert replaced.notes == ()


@given(st.lists(NESTED, max_size=3))
def test_every_distinct_match_is_found_once_and_its_position_leads_to_it(args: list[Any]) -> None:
    found = find(args, {}, matches=is_mark)
    expected = {id(mark): mark for value in args for mark in marks(value)}
    assert {id(one.value) for one in found} == set(expected)
    assert len(found) == len(expected)
    for one in found:
        path = one.position.removeprefix("arg ")
        index, bracket, rest = path.partition("[")
        assert eval(f"value{bracket}{rest}", {"value": args[int(index)]}) is one.value


@given(NESTED)
def test_a_value_without_a_match_is_the_same_object_afterwards(value: Any) -> None:
    replaced = replace((value, Mark(0)), {}, matches=is_mark, make=lambda _: None)
    if not marks(value):
        assert replaced.args[0] is value


@given(st.lists(NESTED, min_size=1, max_size=3), st.lists(st.integers(0, 20), min_size=1, max_size=6))
def test_aliases_survive(parts: list[Any], picks: list[int]) -> None:
    value = [parts[pick % len(parts)] for pick in picks]
    arrived = replace((value,), {}, matches=is_mark, make=lambda mark: [mark.number]).args[0]
    for one, pick in enumerate(picks):
        for two, other in enumerate(picks):
            if pick % len(parts) == other % len(parts):
                assert arrived[one] is arrived[two]


@st.composite
def graphs(draw: st.DrawFn) -> list[Any]:
    """Draw lists and dicts that refer to one another in any way, cycles included."""
    nodes: list[Any] = [draw(st.sampled_from([list, dict]))() for _ in range(draw(st.integers(1, 6)))]
    for _ in range(draw(st.integers(0, 12))):
        source, target = draw(st.sampled_from(nodes)), draw(st.one_of(st.sampled_from(nodes), LEAVES))
        if isinstance(source, list):
            source.append(target)
        else:
            source[len(source)] = target
    return nodes


@given(graphs())
def test_cyclic_arguments_keep_their_shape(nodes: list[Any]) -> None:
    arrived = replace(tuple(nodes), {}, matches=is_mark, make=lambda mark: f"mark {mark.number}").args
    assert shape(arrived) == shape(tuple(nodes))
    assert not any(isinstance(one, Mark) for one in reachable(arrived))


def reachable(args: tuple[Any, ...]) -> list[Any]:
    """List every object once, in the order of a plain search."""
    seen: dict[int, Any] = {}
    waiting = list(args)
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return list(seen.values())


def shape(args: tuple[Any, ...]) -> bytes:
    """Write down types and references, leaves aside."""
    numbers: dict[int, int] = {}
    lines: list[Any] = []
    waiting = list(reversed(args))
    while waiting:
        value = waiting.pop()
        if not isinstance(value, list | dict):
            lines.append("leaf")
        elif id(value) in numbers:
            lines.append(numbers[id(value)])
        else:
            numbers[id(value)] = len(numbers)
            items = list(value.values()) if isinstance(value, dict) else value
            lines.append((type(value).__name__, len(items)))
            waiting += reversed(items)
    return pickle.dumps(lines)
