"""Ids of batches and of their jobs."""

import re
import secrets
from typing import Final

_GROUP: Final = re.compile(r"batch-[0-9a-f]{8}")
_IDS: Final = 1 << 32


def new_group_id() -> str:
    """Return an id for a batch: `batch-` and 8 hexadecimal digits."""
    return f"batch-{secrets.token_hex(4)}"


def is_group_id(text: str) -> bool:
    """Tell whether it looks like the id of a batch.

    >>> is_group_id("batch-0a1b2c3d"), is_group_id("job-0a1b2c3d")
    (True, False)
    """
    return _GROUP.fullmatch(str(text)) is not None


def job_id_in(group_id: str, index: int, attempt: int, *, retries: int) -> str:
    """Return the id of a job of a batch: whoever goes on with the batch gives the same job the same id.

    They are counted on from the batch's own number, so no two jobs of a batch share one.

    Args:
        group_id: The batch.
        index: The input's place, from 0.
        attempt: From 1.
        retries: Further attempts that the batch allows an input.

    >>> job_id_in("batch-0000000f", 1, 2, retries=2)
    'job-00000013'
    """
    first = int(group_id.removeprefix("batch-"), 16)
    return f"job-{(first + index * (retries + 1) + attempt - 1) % _IDS:08x}"
