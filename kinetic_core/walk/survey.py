"""One pass over a call's arguments: what matches, which containers hold it, and what forbids replacing it.

A depth-first search on an explicit stack, so that depth is limited by memory alone. It finds the strongly
connected components as it goes (Tarjan), because containers in a cycle have to be rebuilt together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from kinetic_core.walk.containers import Kind, dict_items, kind_of, members, sequence_items
from kinetic_core.walk.position import KEY, MEMBER, argument, keyword, written


class Node:
    """A container that was met, once however often it is referred to."""

    # By hand: one is made for every container of a call, and a generated class is slower to make.
    __slots__ = ("at", "closed", "holds", "index", "kind", "looped", "low", "outer", "value")

    def __init__(self, value: Any, kind: Kind, outer: "Node | None", at: Any, index: int) -> None:
        """Take what it is and how it was reached first: from which container, and by which step."""
        self.value = value
        self.kind = kind
        self.outer = outer
        self.at = at
        self.index = self.low = index
        self.looped = False
        """It holds itself."""
        self.holds = False
        """A match lies in it, at any depth."""
        self.closed = False
        """All that its component holds was met."""

    @property
    def position(self) -> str:
        """Return where it was met first."""
        return written(_steps(self.outer, self.at))

    @property
    def is_indexed(self) -> bool:
        """Tell whether it is in no set and in no key."""
        return not any(step is KEY or step is MEMBER for step in _steps(self.outer, self.at))


@dataclass(slots=True)
class Survey:
    """What one pass learnt."""

    found: dict[int, tuple[str, Any]] = field(default_factory=dict)
    """What matches, by identity: its first position and itself, in the order they were met."""
    components: list[list[Node]] = field(default_factory=list)
    """Containers that hold a match, inner ones first; those of a cycle together."""
    in_keys: list[str] = field(default_factory=list)
    in_sets: list[str] = field(default_factory=list)
    frozen_cycles: list[str] = field(default_factory=list)
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
        self._keys: list[tuple[Node, Node]] = []

    def start(self, value: Any, at: Any) -> None:
        if self._matches(value):
            self._survey.found.setdefault(id(value), (written([at]), value))
            return
        kind = kind_of(value)
        if kind is None or id(value) in self._nodes:
            return
        self._enter(value, kind, None, at)
        while self._path:
            node, items = self._path[-1]
            if not self._descend(node, items):
                self._leave()

    def finish(self) -> Survey:
        """Name the outermost sets and keys, now that it is known which containers hold a match."""
        self._survey.in_sets = [
            node.position for node in self._nodes.values() if node.holds and node.kind is Kind.SET and node.is_indexed
        ]
        self._survey.in_keys += [node.position for node, key in self._keys if key.holds]
        return self._survey

    def _descend(self, node: Node, items: Iterator[tuple[Any, Any]]) -> bool:
        """Go through the items up to the next container that was not met before, and enter it."""
        for at, value in items:
            if self._matches(value):
                node.holds = True
                self._survey.found.setdefault(id(value), (written(_steps(node, at)), value))
                if at is KEY:
                    self._survey.in_keys.append(node.position)
                continue
            kind = kind_of(value)
            if kind is None:
                continue
            known = self._nodes.get(id(value))
            child = known or self._enter(value, kind, node, at)
            if at is KEY:
                self._keys.append((node, child))
            if known is None:
                return True
            _refer(node, known)
        return False

    def _enter(self, value: Any, kind: Kind, outer: Node | None, at: Any) -> Node:
        node = Node(value, kind, outer, at, len(self._nodes))
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
        component = [self._open.pop()]
        while component[-1] is not first:
            component.append(self._open.pop())
        component.reverse()
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
        return ((MEMBER, one) for one in members(value))
    if kind is Kind.DICT:
        # Keys are nearly always text, which needs no look.
        return chain(((KEY, key) for key, _ in dict_items(value) if type(key) is not str), dict_items(value))
    return enumerate(sequence_items(value))


def _steps(outer: Node | None, at: Any) -> list[Any]:
    steps = [at]
    while outer is not None:
        steps.append(outer.at)
        outer = outer.outer
    steps.reverse()
    return steps
