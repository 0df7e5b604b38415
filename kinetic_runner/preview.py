"""Reading a pickled payload without loading it: its plain first items, or all of it with nothing real inside."""

import pickle
from pathlib import Path
from typing import Any, BinaryIO, Final

_MAX_INERT_BYTES: Final = 16 << 20


def known_before_loading(path: Path) -> dict[str, Any]:
    """Return what a payload tells without being loaded: its first items, else, unless it is large, any plain ones."""
    return first_items(path) or (inert(path) if path.stat().st_size <= _MAX_INERT_BYTES else {})


def first_items(path: Path) -> dict[str, Any]:
    """Return the items that stand in a payload before anything that has to be imported, as far as they are plain.

    The client writes fingerprint and captured variables first. Payloads of others may begin with the function,
    and then this is empty. No more of the file is read than these items take.
    """
    # The standard library's own loader in Python: the one in C does not show how far it has come.
    with path.open("rb") as stream:
        reader = _Reader(stream)
        try:
            reader.load()
        except _MetCodeError:
            return reader.items()
        except Exception:  # noqa: BLE001 - whatever is wrong with it will be told when it is loaded
            return {}
    return {}


def inert(path: Path) -> dict[str, Any]:
    """Return a payload with a stand-in for every object that is no plain value or container; `{}` if it is none.

    Nothing is imported and none of its code runs, so that this works where loading fails.
    """
    with path.open("rb") as stream:
        try:
            loaded = _InertUnpickler(stream).load()
        except Exception:  # noqa: BLE001 - damaged, or of a later protocol: then nothing is known
            return {}
    return loaded if type(loaded) is dict else {}


class _MetCodeError(Exception):
    """Everything before the first thing to import has been read."""


class _Reader(pickle._Unpickler):  # noqa: SLF001 - see above; tests/unit/kinetic_runner/test_preview.py watches it
    stack: list[Any]
    metastack: list[list[Any]]

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "dict") and not self.metastack:
            return dict
        raise _MetCodeError

    def items(self) -> dict[str, Any]:
        """Return the pairs that wait to be put into the outermost dict, and those that are in it already."""
        outer = self.metastack[0] if self.metastack else self.stack
        waiting = self.metastack[1] if len(self.metastack) > 1 else self.stack
        made: dict[str, Any] = dict(outer[0]) if outer and type(outer[0]) is dict else {}
        keys, values = waiting[::2], waiting[1::2]
        made.update({key: value for key, value in zip(keys, values, strict=False) if isinstance(key, str)})
        return made


class _InertUnpickler(pickle.Unpickler):
    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream, buffers=None)

    def find_class(self, module: str, name: str, /) -> Any:
        return dict if (module, name) == ("builtins", "dict") else _Inert

    def persistent_load(self, _: Any, /) -> Any:
        return _Inert


def _ignore(*_: Any, **__: Any) -> None:
    """Take whatever is given, and make nothing of it."""


class _Anything(type):
    """What `_Inert` does as an object."""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        return cls

    def __iter__(cls) -> Any:
        return iter(())

    __setitem__ = _ignore


class _Inert(metaclass=_Anything):
    """Takes whatever a pickle does to an object.

    A class, and what it makes is itself again: what a pickle makes by a call may be a class of which it makes more.
    """

    def __new__(cls, *_: Any, **__: Any) -> Any:
        return cls

    __setstate__ = append = extend = add = staticmethod(_ignore)
