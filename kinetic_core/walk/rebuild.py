"""Rebuild containers around replaced items: same type, same order, same attributes."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from kinetic_core.walk.containers import Kind, dict_items, sequence_items
from kinetic_core.walk.survey import Node, is_cycle


def rebuild(component: Sequence[Node], replacements: dict[int, Any]) -> list[str]:
    """Rebuild containers that hold one another, or a single one, and enter them among the replacements.

    Args:
        component: Lists and dicts when there are several, since other cycles are refused.
        replacements: By identity of what they replace; holds those of all inner containers.

    Returns:
        What could not keep its type, one sentence each.
    """
    notes: list[str] = []
    if not is_cycle(component):
        (node,) = component
        replacements[id(node.value)] = _around(node, _replaced(node, replacements), notes)
        return notes
    shells = [_around(node, (), notes) for node in component]
    replacements.update({id(node.value): shell for node, shell in zip(component, shells, strict=True)})
    for node, shell in zip(component, shells, strict=True):
        _fill(shell, _replaced(node, replacements))
    return notes


def _replaced(node: Node, replacements: dict[int, Any]) -> Sequence[Any]:
    if node.kind is Kind.DICT:
        return [(key, replacements.get(id(value), value)) for key, value in dict_items(node.value)]
    return [replacements.get(id(value), value) for value in sequence_items(node.value)]


def _around(node: Node, items: Sequence[Any], notes: list[str]) -> Any:
    """Make a container of the node's type that holds the items, or a plain one with a note."""
    cls = type(node.value)
    plain: Callable[[Any], Any] = {Kind.LIST: list, Kind.TUPLE: tuple, Kind.DICT: dict}[node.kind]
    if cls is plain:
        return plain(items)
    try:
        made = _construct(node, items)
    except Exception as error:  # noqa: BLE001 - the constructor is the user's, and whatever it raises has one answer
        reason = f"its constructor raised {type(error).__name__}"
    else:
        if type(made) is cls and _holds(made, node.kind, items):
            _keep_attributes(node.value, made)
            return made
        reason = "its constructor does not keep the items it is given"
    notes.append(
        f"{cls.__module__}.{cls.__qualname__} at {node.position} arrives as a plain {plain.__name__}: {reason}"
    )
    return plain(items)


def _construct(node: Node, items: Sequence[Any]) -> Any:
    cls = type(node.value)
    if issubclass(cls, defaultdict):
        return cls(node.value.default_factory, dict(items))
    if node.kind is Kind.DICT:
        return cls(dict(items)) if items else cls()
    if node.kind is Kind.TUPLE and hasattr(cls, "_make") and hasattr(cls, "_fields"):
        return cls._make(items)
    return cls(list(items)) if items else cls()


def _holds(made: Any, kind: Kind, items: Sequence[Any]) -> bool:
    """Tell whether exactly these items arrived, by identity: equality may be the user's, and is not needed."""
    held = _flat(dict_items(made)) if kind is Kind.DICT else list(sequence_items(made))
    given = _flat(items) if kind is Kind.DICT else items
    return len(held) == len(given) and all(one is other for one, other in zip(held, given, strict=True))


def _flat(pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    return [part for pair in pairs for part in pair]


def _fill(shell: Any, items: Sequence[Any]) -> None:
    # Through the built-in's methods: an override would see a container that is not complete yet.
    if isinstance(shell, list):
        list.extend(shell, items)
        return
    put = OrderedDict.__setitem__ if isinstance(shell, OrderedDict) else dict.__setitem__
    for key, value in items:
        put(shell, key, value)


def _keep_attributes(old: Any, new: Any) -> None:
    with suppress(AttributeError, TypeError):
        new.__dict__.update(old.__dict__)
    for cls in type(old).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{cls.__name__.lstrip('_')}{slot}" if slot.startswith("__") and not slot.endswith("__") else slot
            # An unset slot raises on reading, and one that is guarded raises on writing: either stays as it is.
            with suppress(AttributeError, TypeError):
                object.__setattr__(new, name, object.__getattribute__(old, name))
