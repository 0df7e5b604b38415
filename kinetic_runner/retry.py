"""Trying again what may work the next time."""

import errno
import os
import time
from collections.abc import Callable
from typing import Final, TypeVar

from kinetic_core.wire.transience import may_pass
from kinetic_runner.log import Log

T = TypeVar("T")

_DELAYS_S: Final = (0.5, 1.0, 2.0, 4.0)
_FINAL_ERRNOS: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENAMETOOLONG))


def retried(what: str, call: Callable[[], T], *, log: Log, sleep: Callable[[float], None] = time.sleep) -> T:
    """Call until it works; five times at most, with growing pauses that no two hosts share.

    Args:
        what: For the log, such as `download of gs://b/context.zip`.
        call: What to do; it starts from the beginning each time.
        log: Told of each failure that is tried again.
        sleep: How to wait, given seconds.

    Raises:
        OSError: It failed five times; says what, and the last failure.
        Exception: At once, a failure that will not go away: an absence, a refusal, a missing driver.
    """
    for delay_s in _DELAYS_S:
        try:
            return call()
        except Exception as error:
            if not is_transient(error):
                raise
            log.caution(f"{what} failed ({type(error).__name__}: {error}); trying again")
            sleep(delay_s * (0.5 + os.urandom(1)[0] / 255))
    try:
        return call()
    except Exception as error:
        if not is_transient(error):
            raise
        # Some failures have no text at all, and few name the object.
        attempts = len(_DELAYS_S) + 1
        raise OSError(f"{what} failed (after {attempts} attempts): {type(error).__name__}: {error}") from error


def is_transient(error: Exception) -> bool:
    """Tell whether the same call may work later.

    >>> is_transient(TimeoutError()), is_transient(FileNotFoundError())
    (True, False)
    """
    known = may_pass(error)
    if known is None:
        # Of a disk, of a network file system: what the system reports may pass, unless it is of the lasting kind.
        return isinstance(error, OSError) and error.errno is not None and error.errno not in _FINAL_ERRNOS
    return known
