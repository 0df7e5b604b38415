"""Collecting: reading a result without changing anything of the process that reads it."""

import functools
import pickle
import types
from pathlib import Path
from typing import Any, BinaryIO, Final

import cloudpickle

# Private, and unavoidable: cloudpickle registers what it makes and sets the attributes of classes that it finds
# again; there is no public way to look one up. tests/unit/…/test_collecting.py fails when they move.
from cloudpickle.cloudpickle import _DYNAMIC_CLASS_TRACKER_BY_ID, _class_setstate

from kinetic_core.errors import ResultUnavailableError
from kinetic_core.packaging.jsonformat import load_json_result
from kinetic_core.wire.quietclass import make_quietly
from kinetic_core.wire.result import Result, read_result

_CLOUDPICKLE: Final = cloudpickle.cloudpickle.__name__
_MAKE_CLASS: Final = "_make_skeleton_class"
# The makers of classes and type variables, and at which argument they take the id that says which one it is.
_ID_POSITIONS: Final = types.MappingProxyType({_MAKE_CLASS: 4, "_make_skeleton_enum": 5, "_make_typevar": 5})
_NEXT_STEP: Final = "the artifact stays where it is: collect it again where that is remedied"


def load_result(path: Path) -> Result:
    """Load a result; by its suffix as JSON, and then no pickle is opened, whatever the file holds.

    Classes that this process sent out are found again and left exactly as they are now. Classes that came into being
    on the pod are made without telling their bases (`__init_subclass__` of yours does not run); cloudpickle remembers
    them weakly, so that the results of one job share them.

    Raises:
        ResultUnavailableError: A module that the value needs is missing here, or the file is incomplete or damaged.
    """
    if path.suffix == ".json":
        return load_json_result(path)
    try:
        with path.open("rb") as stream:
            return read_result(_Unpickler(stream).load())
    except ModuleNotFoundError as error:
        raise ResultUnavailableError(
            f"the result needs the module {error.name!r}, which cannot be imported here; install it or put it on"
            f" sys.path; {_NEXT_STEP} ({path.name})"
        ) from error
    except (EOFError, pickle.UnpicklingError) as error:
        raise ResultUnavailableError(
            f"the result {path.name} is incomplete or damaged ({path.stat().st_size} bytes): {error}"
        ) from error
    except (Exception, SystemExit) as error:
        # A module that the value needs may be a script, which exits when it is imported.
        raise ResultUnavailableError(
            f"the result cannot be loaded here: {type(error).__name__}: {error}; {_NEXT_STEP} ({path.name})"
        ) from error


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._found: set[int] = set()

    def find_class(self, module: str, name: str, /) -> Any:
        found = super().find_class(module, name)
        if module != _CLOUDPICKLE:
            return found
        if name in _ID_POSITIONS:
            return self._finder(
                functools.partial(make_quietly, found) if name == _MAKE_CLASS else found, _ID_POSITIONS[name]
            )
        return self._set_state if found is _class_setstate else found

    def _finder(self, make: Any, position: int) -> Any:
        def find_or_make(*arguments: Any) -> Any:
            known = _DYNAMIC_CLASS_TRACKER_BY_ID.get(arguments[position])
            if known is None:
                return make(*arguments)
            self._found.add(id(known))
            return known

        return find_or_make

    def _set_state(self, cls: Any, state: Any) -> Any:
        return cls if id(cls) in self._found else _class_setstate(cls, state)
