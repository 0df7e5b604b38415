"""Waiting for what runs on fsspec's own event loop."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from fsspec.asyn import sync

T = TypeVar("T")

STALLED_S: Final = 30
"""How long a peer may say nothing; then the request failed, and may be tried again."""
CONNECTING_S: Final = 10


def run(loop: asyncio.AbstractEventLoop, call: Coroutine[Any, Any, T]) -> T:
    """Run the call on the loop, from any other thread, and return what it returns."""

    async def waited() -> T:
        return await call

    result: T = sync(loop, waited)
    return result
