"""The end of a log, as an error shows it: what a person can read of it."""

from typing import Final

_MOST_CHARS: Final = 2000


def shortened(text: str) -> str:
    """Return lines without what nobody reads: states that a bar wrote over, and the middle of a very long one.

    >>> shortened("10%" + " " * 3000 + chr(13) + "100%")
    '100%'
    """
    return "\n".join(line if len(line) <= _MOST_CHARS else _shortened(line) for line in text.split("\n"))


def _shortened(line: str) -> str:
    last = line.rstrip("\r").rpartition("\r")[2]
    if len(last) <= _MOST_CHARS:
        return last
    half = _MOST_CHARS // 2
    return f"{last[:half]} …({len(last) - 2 * half} characters are left out)… {last[-half:]}"
