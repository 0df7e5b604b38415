"""One pass over a call's arguments: what matches, which containers hold it, and what forbids replacing it.

A depth-first search on an explicit stack, so that depth is limited by memory alone. It finds the strongly
connected components as it goes (Tarjan), because containers in a cycle have to be rebuilt together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from kinetic_core.walk.containers import Kind, dict_items, kind_of, members, sequence_items
from kinetic_core.walk.position import Position, argument, item, keyword, unindexed


class _Unindexed:
    """Stands where an index would, for what has none."""

    def __init__(self, what: str) -> None:
        self.what = what


_KEY: Final = _Unindexed("key")
_MEMBER: Final = _Unindexed("member")


@dataclass(slots=True, eq=False)
class Node:
    """A container that was met, once however often it is referred to."""

    value: Any
    kind: Kind
    position: Position
    index: int
    low: int
    looped: bool = False
    """It holds itself."""
    holds: bool = False
    """A match lies in it, at any depth."""
    closed: bool = False
    """All that its component holds was met."""


@dataclass(slots=True)
class Survey:
    """What one pass learnt."""

    found: dict[int, tuple[Position, Any]] = field(default_factory=dict)
    """What matches, by identity: its first position and itself, in the order they were met."""
    components: list[list[Node]] = field(default_factory=list)
    """Containers that hold a match, inner ones first; those of a cycle together."""
    in_keys: list[Position] = field(default_factory=list)
    in_sets: list[Position] = field(default_factory=list)
    frozen_cycles: list[Position] = field(default_factory=list)
    """Tuples and sets that lie on a cycle."""


def survey(args: Sequence[Any], kwargs: Mapping[str, Any], *, matches: Callable[[Any], bool]) -> Survey:
    """Walk the arguments of a call.

    Args:
        args: Positional arguments.
        kwargs: Keyword arguments.
        matches: Tells whether a value is looked for; asked before the value is descended into.
    """
    walk = _Walk(matches)
    for index, value in enumerate(args):
        walk.start(value, argument(index))
    for name, value in kwargs.items():
        walk.start(value, keyword(name))
    return walk.finish()


def is_cycle(component: Sequence[Node]) -> bool:
    """Tell whether the containers of a component hold one another."""
    return len(component) > 1 or component[0].looped


class _Walk:
    def __init__(self, matches: Callable[[Any], bool]) -> None:
        self._matches = matches
        self._survey = Survey()
        self._nodes: dict[int, Node] = {}
        self._path: list[tuple[Node, Iterator[tuple[Any, Any]]]] = []
        self._open: list[Node] = []
        self._keys: list[tuple[Position, Node]] = []

    def start(self, value: Any, position: Position) -> None:
        if self._matches(value):
            self._survey.found.setdefault(id(value), (position, value))
            return
        kind = kind_of(value)
        if kind is None or id(value) in self._nodes:
            return
        self._enter(value, kind, position)
        while self._path:
            node, items = self._path[-1]
            if not self._descend(node, items):
                self._leave()

    def finish(self) -> Survey:
        """Name the outermost sets and keys, now that it is known which containers hold a match."""
        self._survey.in_sets = [
            node.position
            for node in self._nodes.values()
            if node.holds and node.kind is Kind.SET and node.position.is_indexed
        ]
        self._survey.in_keys += [position for position, node in self._keys if node.holds]
        return self._survey

    def _descend(self, node: Node, items: Iterator[tuple[Any, Any]]) -> bool:
        """Go through the items up to the next container that was not met before, and enter it."""
        for at, value in items:
            if self._matches(value):
                node.holds = True
                self._survey.found.setdefault(id(value), (_inside(node, at), value))
                if at is _KEY:
                    self._survey.in_keys.append(node.position)
                continue
            kind = kind_of(value)
            if kind is None:
                continue
            known = self._nodes.get(id(value))
            child = known or self._enter(value, kind, _inside(node, at))
            if at is _KEY:
                self._keys.append((node.position, child))
            if known is None:
                return True
            _refer(node, known)
        return False

    def _enter(self, value: Any, kind: Kind, position: Position) -> Node:
        node = Node(value, kind, position, len(self._nodes), len(self._nodes))
        self._nodes[id(value)] = node
        self._open.append(node)
        self._path.append((node, _contents(value, kind)))
        return node

    def _leave(self) -> None:
        node, _ = self._path.pop()
        if node.low == node.index:
            self._close(node)
        if self._path:
            outer = self._path[-1][0]
            outer.low = min(outer.low, node.low)
            outer.holds |= node.holds

    def _close(self, first: Node) -> None:
        at = next(index for index in range(len(self._open) - 1, -1, -1) if self._open[index] is first)
        component = self._open[at:]
        del self._open[at:]
        holds = any(node.holds for node in component)
        for node in component:
            node.closed, node.holds = True, holds
        if is_cycle(component):
            frozen = (node.position for node in component if node.kind in (Kind.TUPLE, Kind.SET))
            self._survey.frozen_cycles.extend(frozen)
        if holds:
            self._survey.components.append(component)


def _refer(node: Node, known: Node) -> None:
    if known.closed:
        node.holds |= known.holds
        return
    node.low = min(node.low, known.index)
    node.looped |= node is known


def _contents(value: Any, kind: Kind) -> Iterator[tuple[Any, Any]]:
    if kind is Kind.SET:
        return ((_MEMBER, one) for one in members(value))
    if kind is Kind.DICT:
        # Keys are nearly always text, which needs no look.
        return chain(((_KEY, key) for key, _ in dict_items(value) if type(key) is not str), dict_items(value))
    return enumerate(sequence_items(value))


def _inside(node: Node, at: Any) -> Position:
    return unindexed(node.position, at.what) if isinstance(at, _Unindexed) else item(node.position, at)
