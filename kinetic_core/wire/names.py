"""Names on the wire: file names, keys, flags and variables that both sides spell the same way.

They are those of the Kinetic 0.0.x runner, so an artifact made here runs there and the reverse.
"""

from typing import Final

PAYLOAD_FILE: Final = "payload.pkl"
CONTEXT_FILE: Final = "context.zip"
RESULT_FILE: Final = "result.pkl"
REQUIREMENTS_FILE: Final = "requirements.txt"
PLAN_PATH: Final = ".kinetic/plan.json"

PART_PREFIX: Final = ".kinetic-part-"
"""Of files in a `file://` store that are being written."""

PICKLE_PROTOCOL: Final = 5

DEFAULT_FORMATS: Final = ("json", "pickle")
"""Serialization formats that client and pod have without a plugin, and accept where nobody names others."""

ENV_JOB_ID: Final = "KINETIC_JOB_ID"
ENV_OUTPUT_DIR: Final = "KINETIC_OUTPUT_DIR"
ENV_HOST_INDEX: Final = "KINETIC_HOST_INDEX"
ENV_NUM_HOSTS: Final = "KINETIC_NUM_HOSTS"
ENV_ATTEMPT: Final = "KINETIC_ATTEMPT"
"""Which attempt at the job this is, where it is not the first: its runner takes back what the one before recorded."""
ENV_COORDINATOR: Final = "KINETIC_COORDINATOR"
"""Address and port at which the hosts of a job can meet, kept free for host 0."""
ENV_MOUNT_ROOT: Final = "KINETIC_MOUNT_ROOT"
ENV_LOG_LEVEL: Final = "KINETIC_LOG_LEVEL"
ENV_ALLOWED_SERIALIZATION: Final = "KINETIC_ALLOWED_SERIALIZATION"
ENV_MAX_CONTEXT_GB: Final = "KINETIC_MAX_CONTEXT_GB"
ENV_DEBUG: Final = "KINETIC_DEBUG"
"""Where a debugger is to listen on the pod, as `127.0.0.1:5678`; unset where nobody debugs."""
ENV_DEBUG_WAIT: Final = "KINETIC_DEBUG_WAIT_TIMEOUT"
DEBUG_WAIT_S: Final = 600
"""How long a job waits for a debugger to attach."""


def worker_result_file(host_index: int) -> str:
    """Return the name under which a host other than 0 writes its failure record.

    >>> worker_result_file(3)
    'result-worker-3.pkl'
    """
    return f"result-worker-{host_index}.pkl"
