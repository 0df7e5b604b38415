"""The event loop that the stores' clients run on, and waiting for what runs there."""

import asyncio
import functools
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
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
    future = asyncio.run_coroutine_threadsafe(limited(call, sent_bytes=sent_bytes), loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def limited(call: Awaitable[T], *, sent_bytes: int = 0) -> T:
    """Await the call, and give it up where the peer takes no more of its body.

    Args:
        call: One request.
        sent_bytes: Size of its body.

    Raises:
        TimeoutError: The peer takes no more of the body.
    """
    async with asyncio.timeout(STALLED_S + sent_bytes / SLOWEST if sent_bytes else None):
        return await call


class StallLimit:
    """Gives up a request with a body of any size, once the peer has taken nothing of it for a while."""

    def __init__(self) -> None:
        """Make it; a block of `async with` its `limit` is what it gives up, by a `TimeoutError`."""
        self.limit = asyncio.timeout(STALLED_S)

    def begin_anew(self, size_bytes: int) -> None:
        """Take note that the peer took something; the next piece is of this size."""
        # A peer that answers early leaves the rest of the body to whoever writes it, behind the block.
        with suppress(RuntimeError):
            self.limit.reschedule(asyncio.get_running_loop().time() + STALLED_S + size_bytes / SLOWEST)


@functools.cache
def _loop_thread() -> LoopThread:
    return LoopThread("kinetic-stores")
