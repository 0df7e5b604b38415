"""Opening a payload: as a pickle with names of files translated, or as plain values without any pickle."""

import functools
import pickle
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, BinaryIO, Final

import cloudpickle

from kinetic_core.wire import payload as keys
from kinetic_core.wire.quietclass import make_leniently
from kinetic_runner.filenames import FileNames
from kinetic_runner.formats import PlainFormat

# The pickle names these as the makers of functions and modules that travel by value; there is no public hook
# where these come to life. tests/unit/kinetic_runner/test_loading.py fails when they move.
_CLOUDPICKLE: Final = "cloudpickle.cloudpickle"
_MAKE_FUNCTION: Final = "_make_function"
_SET_FUNCTION_STATE: Final = "_function_setstate"
_MAKE_MODULE: Final = "dynamic_subimport"
_MAKE_CLASS: Final = "_make_skeleton_class"


def load_pickle(path: Path, names: FileNames, *, same_python: bool = True) -> dict[str, Any]:
    """Load a pickled payload.

    Args:
        path: The payload.
        names: Translates names of files.
        same_python: Whether the client's Python has this one's minor version. Bytecode of another one crashes the
            interpreter, or gives another result.

    Raises:
        Exception: Whatever loading the user's objects raises.
        RuntimeError: It holds functions by value, and the minor version is another.
        ValueError: It is no payload.
    """
    with path.open("rb") as stream:
        return _checked(_Unpickler(stream, names, same_python=same_python).load())


def load_plain(path: Path, form: PlainFormat) -> dict[str, Any]:
    """Load a payload of a format that carries no objects; `func` is still the description of the function.

    Raises:
        Exception: Whatever the format's own code raises.
        ValueError: It is no payload.
    """
    return _checked(form.load_payload(path))


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: BinaryIO, names: FileNames, *, same_python: bool) -> None:
        super().__init__(stream)
        self._names = names
        self._same_python = same_python

    def find_class(self, module: str, name: str, /) -> Any:
        found = super().find_class(module, name)
        if module != _CLOUDPICKLE:
            return found
        wrap = {
            _MAKE_FUNCTION: self._function_maker,
            _SET_FUNCTION_STATE: self._state_setter,
            _MAKE_MODULE: self._module_maker,
            _MAKE_CLASS: _class_maker,
        }.get(name)
        return found if wrap is None else wrap(found)

    def _function_maker(self, make: Any) -> Any:
        # Asked for before the code is made, which may be too late already.
        if not self._same_python:
            raise RuntimeError(
                "the project's functions travel as bytecode, which another minor version of Python cannot run; use the"
                " client's Python there, or serialization=\"json\", for which the function's module is imported, and"
                " kinetic-run has to be installed there"
            )
        names = self._names

        def make_function(code: Any, module_globals: dict[str, Any], *rest: Any) -> FunctionType:
            file = module_globals.get("__file__")
            _move_file(module_globals, names)
            made: FunctionType = make(names.code_to_pod(code, file), module_globals, *rest)
            return made

        return make_function

    def _state_setter(self, set_state: Any) -> Any:
        names = self._names

        def set_function_state(function: FunctionType, state: Any) -> None:
            set_state(function, state)
            _move_file(function.__globals__, names)

        return set_function_state

    def _module_maker(self, make: Any) -> Any:
        names = self._names

        def make_module(name: str, namespace: dict[str, Any]) -> ModuleType:
            _move_file(namespace, names)
            path = namespace.get("__path__")
            if isinstance(path, list):
                namespace["__path__"] = [names.to_pod(entry) if isinstance(entry, str) else entry for entry in path]
            made: ModuleType = make(name, namespace)
            made.__spec__ = _spec(made)
            return made

        return make_module


def _class_maker(make: Any) -> Any:
    return functools.partial(make_leniently, make)


def _move_file(module_globals: dict[str, Any], names: FileNames) -> None:
    file, name = module_globals.get("__file__"), module_globals.get("__name__")
    if isinstance(file, str):
        file = module_globals["__file__"] = names.to_pod(file)
        if isinstance(name, str):
            names.modules[name] = file


def _spec(module: ModuleType) -> ModuleSpec | None:
    """Return what an import would have set; `importlib.resources` and `pkgutil` go by it."""
    file, path = module.__dict__.get("__file__"), module.__dict__.get("__path__")
    if not isinstance(file, str):
        return None
    spec = ModuleSpec(module.__name__, SourceFileLoader(module.__name__, file), origin=file)
    spec.submodule_search_locations = path if isinstance(path, list) else None
    spec.has_location = True
    return spec


def _checked(payload: Any) -> dict[str, Any]:
    if not isinstance(payload, dict):
        raise ValueError(f"the payload is a {type(payload).__name__}, not a dict")  # noqa: TRY004 - a bad file, not a bad call
    missing = keys.missing_keys(payload)
    if missing:
        raise ValueError(f"the payload lacks {', '.join(map(repr, missing))}")
    return payload


def cloudpickle_version() -> str:
    """Return the version of cloudpickle that loads payloads here."""
    return str(cloudpickle.__version__)
