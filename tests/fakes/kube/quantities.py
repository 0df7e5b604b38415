"""Amounts of CPU, memory and devices as Kubernetes writes them."""

import re
from decimal import Decimal
from typing import Final

QUANTITY: Final = re.compile(r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$")
_SUFFIXES: Final = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


def amount(text: str) -> Decimal:
    """Return the quantity as a number.

    Raises:
        ValueError: It is none.
    """
    found = QUANTITY.match(text)
    if found is None:
        raise ValueError(text)
    number, suffix = found.groups()
    if suffix in _SUFFIXES:
        return Decimal(number) * _SUFFIXES[suffix]
    return Decimal(number + suffix)
