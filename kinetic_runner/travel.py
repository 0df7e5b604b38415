"""What can travel home: results and exceptions, tried before they are sent."""

import functools
import io
import pickle
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import cloudpickle

from kinetic_core.wire.names import PICKLE_PROTOCOL
from kinetic_core.wire.quietclass import make_leniently
from kinetic_core.wire.result import MAX_REPR_CHARS, REMOTE_MESSAGE, REMOTE_TRACEBACK, REMOTE_TYPE
from kinetic_runner.filenames import FileNames

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_DYNAMIC: Final = "<dynamic-code>"
_CLOUDPICKLE: Final = "cloudpickle.cloudpickle"
_SET_CLASS_STATE: Final = "_class_setstate"
_MAKE_CLASS: Final = "_make_skeleton_class"


class HomePickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle publishes no types
    """Pickles for the client: code that travels by value names the client's files, not the workspace's."""

    def __init__(self, stream: "SupportsWrite[bytes]", names: FileNames) -> None:
        """Take the stream to write to."""
        super().__init__(stream, protocol=PICKLE_PROTOCOL)
        self._names = names

    def reducer_override(self, obj: Any) -> Any:
        """Reduce code and functions with their files renamed, everything else as cloudpickle does."""
        if isinstance(obj, CodeType):
            return self._code(obj)
        reduced = super().reducer_override(obj)
        if isinstance(obj, FunctionType) and reduced is not NotImplemented:
            # The namespace that the module's functions share, and what this function reads of it.
            for module_globals in (reduced[1][1], reduced[2][1]["__globals__"]):
                file = module_globals.get("__file__")
                if isinstance(file, str):
                    module_globals["__file__"] = self._names.to_client(file)
        return reduced

    def _code(self, code: CodeType) -> Any:
        # cloudpickle writes a constant in place of the file name.
        make, parts = self.dispatch_table[CodeType](code)
        name = self._names.to_client(code.co_filename)
        return make, tuple(name if part in (_DYNAMIC, code.co_filename) else part for part in parts)


class _TrialUnpickler(pickle.Unpickler):
    """Loads as the client will, but leaves the classes that exist here as they are."""

    def find_class(self, module: str, name: str, /) -> Any:
        if module == _CLOUDPICKLE and name == _SET_CLASS_STATE:
            return _keep
        found = super().find_class(module, name)
        if module == _CLOUDPICKLE and name == _MAKE_CLASS:
            return functools.partial(make_leniently, found)
        return found


def _keep(cls: Any, _state: Any) -> Any:
    return cls


def try_loading(stream: BinaryIO) -> Any:
    """Load what was pickled, to see that it can be rebuilt.

    Raises:
        Exception: Whatever rebuilding raises.
    """
    return _TrialUnpickler(stream).load()


def portable(error: BaseException, traceback: str | None, names: FileNames) -> BaseException:
    """Return the exception when it survives the journey, or one that keeps type name, message and traceback.

    The stand-in is a built-in, so that any client can load it; ours makes a `RemoteError` of it.

    Args:
        error: What was raised.
        traceback: Formatted.
        names: For code in it that travels by value.
    """
    try:
        stream = io.BytesIO()
        HomePickler(stream, names).dump(error)
        stream.seek(0)
        rebuilt = try_loading(stream)
        # An exception without a text would raise its own trouble wherever the client shows or logs it.
        str(rebuilt), repr(rebuilt)
    except BaseException:  # noqa: BLE001 - pickling and rebuilding run the user's code
        return stand_in(error, traceback)
    return error if type(rebuilt).__qualname__ == type(error).__qualname__ else stand_in(error, traceback)


def stand_in(error: BaseException, traceback: str | None, *, text: str = "") -> RuntimeError:
    """Return a plain exception that says what the other one was.

    Args:
        error: The other.
        traceback: Its traceback, formatted.
        text: What to say; by default its type's name and its message.

    >>> str(stand_in(KeyError("x"), None))
    "KeyError: 'x'"
    """
    kind = type(error)
    message = text_of(str, error)
    made = RuntimeError(text or f"{kind.__qualname__}: {message}")
    vars(made).update(
        {REMOTE_TYPE: f"{kind.__module__}.{kind.__qualname__}", REMOTE_MESSAGE: message, REMOTE_TRACEBACK: traceback}
    )
    return made


def shortened_repr(value: Any) -> str:
    """Return at most 20,000 characters of a value's repr, also when making it fails.

    >>> len(shortened_repr("x" * 30_000))
    20000
    """
    return text_of(repr, value)[:MAX_REPR_CHARS]


def text_of(make: Callable[[Any], str], value: Any) -> str:
    """Return what `str` or `repr` makes of a value, or words for it when that fails.

    >>> text_of(str, ValueError("no quota"))
    'no quota'
    """
    try:
        return make(value)
    except BaseException as error:  # noqa: BLE001 - the user's code, and a text is needed in any case
        return f"<{type(value).__qualname__}: its text raised {type(error).__name__}>"
