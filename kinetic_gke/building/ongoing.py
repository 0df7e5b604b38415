"""What is being done in the background, once at a time, whoever asks for it."""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from copy import copy
from typing import Final

_lock: Final = threading.Lock()
_ongoing: Final[dict[Hashable, "Future[str]"]] = {}


def begin(key: Hashable, make: Callable[[], str]) -> Callable[[], str]:
    """Begin something, unless it is being done already; return what waits for its end.

    Nothing waits for it when the process ends.

    Args:
        key: Equal for what is the same.
        make: Does it.

    Returns:
        A function that returns what `make` returned, or raises what it raised.

    >>> begin("key", lambda: "done")()
    'done'
    """
    with _lock:
        future = _ongoing.get(key)
        if future is None:
            future = _ongoing[key] = Future()
            threading.Thread(target=_do, args=(key, future, make), name="kinetic-image", daemon=True).start()
    return lambda: _end(future)


def _do(key: Hashable, future: "Future[str]", make: Callable[[], str]) -> None:
    try:
        made = make()
    except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits
        _forget(key)
        future.set_exception(error)
    else:
        _forget(key)
        future.set_result(made)


def _forget(key: Hashable) -> None:
    with _lock:
        del _ongoing[key]


def _end(future: "Future[str]") -> str:
    error = future.exception()
    if error is None:
        return future.result()
    # Each who waits gets one of his own, to which he may add notes.
    raise copy(error).with_traceback(error.__traceback__) from error.__cause__
