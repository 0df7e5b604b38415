"""What images bring: the place of their programs, and variables."""

import os
import re
import sys
import threading
from pathlib import Path
from typing import Final

import attrs

# Where no rule says otherwise, the interpreter that runs the tests is the `python` of every image.
_OURS: Final = str(Path(sys.executable).parent)
_SYSTEM: Final = ("/usr/local/bin", "/usr/bin", "/bin")


@attrs.frozen(kw_only=True)
class Image:
    """Images whose name the pattern is found in."""

    pattern: str
    programs: str = _OURS
    env: dict[str, str] = attrs.field(factory=dict)


class Images:
    """Rules about images; the last that fits applies."""

    def __init__(self) -> None:
        self._rules = [Image(pattern="")]
        self._lock = threading.Lock()

    def add(self, image: Image) -> None:
        """Add a rule for the containers that start from now on."""
        with self._lock:
            self._rules.append(image)

    def clear(self) -> None:
        """Let every image be alike again."""
        with self._lock:
            del self._rules[1:]

    def env(self, name: str) -> dict[str, str]:
        """Return what the image's processes find in their environment."""
        with self._lock:
            image = next(each for each in reversed(self._rules) if re.search(each.pattern, name))
        return {"PATH": os.pathsep.join([image.programs, *_SYSTEM]), **image.env}
