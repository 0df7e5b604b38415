"""Keys of the payload: the pickled dict that carries the call."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

FUNC: Final = "func"
ARGS: Final = "args"
KWARGS: Final = "kwargs"
ENV_VARS: Final = "env_vars"
HAS_DATA_REFS: Final = "has_data_refs"
DATA_REF_IDS: Final = "data_ref_ids"
CLIENT_FINGERPRINT: Final = "client_fingerprint"
VOLUMES: Final = "volumes"
WORKING_DIR: Final = "working_dir"

REQUIRED: Final = (FUNC, ARGS, KWARGS)


def missing_keys(payload: Mapping[str, Any]) -> Sequence[str]:
    """Name the keys without which no call can be made.

    >>> missing_keys({"func": print, "args": ()})
    ['kwargs']
    """
    return [key for key in REQUIRED if key not in payload]
