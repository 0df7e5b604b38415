"""Times as the API server writes them."""

from datetime import UTC, datetime
from typing import Final

_BEGINNING: Final = datetime.fromtimestamp(0, tz=UTC)


def moment(text: object) -> datetime:
    """Read a time; one that is not there is the beginning of all times.

    >>> moment("2026-11-30T02:20:23Z").minute, moment(None).year
    (20, 1970)
    """
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return _BEGINNING


def written(at: datetime) -> str:
    """Write a time as the API server would.

    >>> written(moment("2026-11-30T02:20:23Z"))
    '2026-11-30T02:20:23Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
