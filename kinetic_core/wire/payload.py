"""Keys of the payload: the pickled dict that carries the call.

The client writes the fingerprint twice: first without `distributions`, so that it is found at the start of a file
that does not unpickle, and again as the last item, with the distributions that the items between refer to.
"""

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
MODULES_BY_VALUE: Final = "modules_by_value"
"""Sorted names of the modules whose code travels in the payload."""
MODULE_UPDATES: Final = "module_updates"
"""Loading this item completes modules that travel by value; its value is of no use."""
SHARED_FUNCTION: Final = "shared_function"
"""SHA-256 of the payload that holds the function. The call's one argument refers to the folder that holds that
payload, under the name of every payload; the function's own arguments are what the two names below say."""
SHARED_ARGS: Final = "args"
SHARED_KWARGS: Final = "kwargs"

REQUIRED: Final = (FUNC, ARGS, KWARGS)


def missing_keys(payload: Mapping[str, Any]) -> Sequence[str]:
    """Name the keys without which no call can be made.

    >>> missing_keys({"func": print, "args": ()})
    ['kwargs']
    """
    return [key for key in REQUIRED if key not in payload]
