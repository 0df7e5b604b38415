"""The entry directory: where the file of the module that defines the function lies."""

import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

import attrs

from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.presence import is_directory
from kinetic_core.packaging.relpath import absolute

# As many wrappers as the interpreter would call through; an object that answers to any attribute has no last one.
_MOST_WRAPPERS: Final = 1000


@attrs.frozen(kw_only=True)
class Entry:
    """Where a function comes from."""

    directory: Path
    """Absolute, links not resolved."""
    explanation: str
    """One sentence for a person."""
    has_source: bool
    """False for a notebook cell, a prompt or `python -c`: the directory is then the working directory."""


def entry_of(function: object, surroundings: Surroundings) -> Entry:
    """Find the entry directory of a function.

    Looks through `functools.partial`, `functools.wraps`, bound methods and callable instances.

    Args:
        function: The callable as the user passed it.
        surroundings: Of the process; a function without a source file takes its working directory.

    >>> here = Surroundings(environ={}, home=Path("/home/u"), cwd=Path("/work"), sys_path=())
    >>> entry_of(eval("lambda: 1", {}), here).directory
    PosixPath('/work')
    """
    inner = _innermost(function)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    source = _source_file(inner)
    if source is None:
        explanation = f"{name} has no source file, so it counts as defined in the working directory {surroundings.cwd}"
        return Entry(directory=absolute("", surroundings.cwd), explanation=explanation, has_source=False)
    path = absolute(source, surroundings.cwd)
    return Entry(directory=_directory(path), explanation=f"{name} is defined in {path}", has_source=True)


def _innermost(function: object) -> object:
    seen: set[int] = set()
    while id(function) not in seen and len(seen) < _MOST_WRAPPERS:
        seen.add(id(function))
        inner = _unwrapped(function)
        if inner is None:
            break
        function = inner
    return function


def _unwrapped(function: object) -> object | None:
    if isinstance(function, functools.partial):
        return function.func
    if isinstance(function, MethodType):
        return function.__func__
    try:
        inner: object = getattr(function, "__wrapped__", None)
    except Exception:  # noqa: BLE001 - whatever a user's __getattr__ raises, the object then wraps nothing
        return None
    return inner if callable(inner) else None


def _source_file(inner: object) -> str | None:
    """Return the file of the defining module; that of its globals, which code made by `exec` shares."""
    if isinstance(inner, FunctionType):
        return _real_file(inner.__globals__)
    if isinstance(inner, BuiltinFunctionType):
        return None
    defining = inner if isinstance(inner, type) else type(inner)
    for member in vars(defining).values():
        # A method that attrs or namedtuple generated runs in a namespace of theirs, without the module's name.
        if isinstance(member, FunctionType) and member.__globals__.get("__name__") == defining.__module__:
            return _real_file(member.__globals__)
    module = sys.modules.get(defining.__module__)
    return None if module is None else _real_file(vars(module))


def _real_file(namespace: Mapping[str, Any]) -> str | None:
    file = namespace.get("__file__")
    if not isinstance(file, str) or not file or _is_pseudo(file):
        return None
    return file


def _is_pseudo(file: str) -> bool:
    """Tell whether a file name stands for typed-in code; the prompt of Python 3.13 names its own source instead."""
    name = Path(file).name
    return (name.startswith("<") and name.endswith(">")) or Path(file).parts[-2:] == ("_pyrepl", "__main__.py")


def _directory(path: Path) -> Path:
    """Return the directory that holds the file; for a module inside a zip archive, the one that holds the archive."""
    return next((parent for parent in path.parents if is_directory(parent)), path.parent)
