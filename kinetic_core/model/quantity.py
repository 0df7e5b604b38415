"""Sizes as people write them: Kubernetes quantities of bytes."""

import re
from typing import Final

_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGTPE]i|[kMGTPE])?")
_UNITS: Final = " kMGTPE"


def size_in_bytes(text: str) -> int:
    """Read a size: a number of bytes, or one with a decimal (`M`) or binary (`Mi`) unit.

    Raises:
        ValueError: It is none, or less than one byte.

    >>> size_in_bytes("512Mi"), size_in_bytes("1.5k"), size_in_bytes("7")
    (536870912, 1500, 7)
    """
    found = _QUANTITY.fullmatch(text.strip())
    number, unit = (found[1], found[2] or " ") if found is not None else ("0", " ")
    base = 1024 if unit.endswith("i") else 1000
    size = int(float(number) * base ** _UNITS.index(unit[0].replace("K", "k")))
    if size < 1:
        message = f"{text!r} is no size; write one such as 512Mi or 2G"
        raise ValueError(message)
    return size
