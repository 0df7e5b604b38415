"""Annotations that may travel: a hint that names a class of this project would need it on the pod."""

import inspect
import typing
from collections.abc import Collection, Mapping
from typing import Any


def portable_annotations(annotations: Mapping[str, Any], own_packages: Collection[str]) -> dict[str, Any]:
    """Return the annotations with each that names a class of these packages written out as text.

    >>> portable_annotations({"x": int, "y": typing.Optional[inspect.Signature]}, {"inspect"})
    {'x': <class 'int'>, 'y': 'Optional[inspect.Signature]'}
    """
    return {
        name: inspect.formatannotation(hint) if _names(hint, own_packages) else hint
        for name, hint in annotations.items()
    }


def _names(hint: object, packages: Collection[str]) -> bool:
    waiting = [hint]
    while waiting:
        current = waiting.pop()
        module = getattr(current, "__module__", None)
        if isinstance(module, str) and module.partition(".")[0] in packages:
            return True
        waiting.extend(current if isinstance(current, list) else typing.get_args(current))
    return False
