"""The event loop that the stores' clients run on, and waiting for what runs there."""

import asyncio
import functools
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from kinetic_core.wire.loopthread import LoopThread

T = TypeVar("T")

STALLED_S: Final = 30
"""How long a peer may say nothing; then the request failed, and may be tried again."""
CONNECTING_S: Final = 10
SLOWEST: Final = 32 << 10
"""Bytes a second that a peer must take of a request's body: no client's timeout looks at that side."""


def own_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process's stores: not fsspec's, which no fork of the process survives."""
    return _loop_thread().loop


def run(loop: asyncio.AbstractEventLoop, call: Coroutine[Any, Any, T], *, sent_bytes: int = 0) -> T:
    """Run the call on the loop, from any other thread, and return what it returns.

    Args:
        loop: Of the store.
        call: One request.
        sent_bytes: Size of its body.

    Raises:
        TimeoutError: The peer takes no more of the body.
    """

    async def waited() -> T:
        async with asyncio.timeout(STALLED_S + sent_bytes / SLOWEST if sent_bytes else None):
            return await call

    future = asyncio.run_coroutine_threadsafe(waited(), loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


@functools.cache
def _loop_thread() -> LoopThread:
    return LoopThread("kinetic-stores")
