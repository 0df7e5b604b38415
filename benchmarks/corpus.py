"""Text that compresses as source code does: this interpreter's own standard library."""

import math
import random
import sysconfig
from pathlib import Path
from typing import Final

_LIMIT_BYTES: Final = 20 << 20
_LEFT_OUT: Final = frozenset({"site-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__"})
_LEAST_BYTES: Final = 32
_SIGMA: Final = 1.0


class Corpus:
    """Slices of real source; the same interpreter and seed give the same slices."""

    def __init__(self, seed: int) -> None:
        """Read the standard library."""
        self.random = random.Random(seed)  # noqa: S311 - the same tree each time is the point
        self._text = _standard_library()

    def source(self, mean_bytes: int) -> bytes:
        """Return a slice that starts with a line; sizes are log-normal about the mean, as those of files are."""
        # The mean of a log-normal distribution is exp(sigma²/2) above its median.
        size = int(self.random.lognormvariate(math.log(mean_bytes) - _SIGMA**2 / 2, _SIGMA))
        return self.slice(max(_LEAST_BYTES, min(size, mean_bytes * 40)))

    def slice(self, size_bytes: int) -> bytes:
        """Return a slice of about this size."""
        start = self.random.randrange(len(self._text) - size_bytes)
        line = self._text.find(b"\n", start) + 1
        return self._text[line : line + size_bytes]

    def noise(self, size_bytes: int) -> bytes:
        """Return bytes that do not compress."""
        return self.random.randbytes(size_bytes)


def _standard_library() -> bytes:
    parts: list[bytes] = []
    size = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if _LEFT_OUT.isdisjoint(path.parts):
            parts.append(path.read_bytes())
            size += len(parts[-1])
        if size > _LIMIT_BYTES:
            break
    return b"".join(parts)
