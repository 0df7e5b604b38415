"""Which host this is, among the hosts of one job."""

from collections.abc import Mapping
from typing import Final

_VARIABLES: Final = ("TPU_WORKER_ID", "LWS_WORKER_INDEX", "JOB_COMPLETION_INDEX")


def host_index(environ: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Return this host's index, 0 where nothing says otherwise, and what to warn about.

    >>> host_index({"TPU_WORKER_ID": "", "LWS_WORKER_INDEX": "2"})
    (2, ())
    >>> host_index({"TPU_WORKER_ID": "x"})
    (0, ("TPU_WORKER_ID='x' is no host index and is ignored",))
    """
    warnings: list[str] = []
    for name in _VARIABLES:
        text = environ.get(name, "").strip()
        if not text:
            continue
        if text.isascii() and text.isdigit():
            return int(text), tuple(warnings)
        warnings.append(f"{name}={text!r} is no host index and is ignored")
    return 0, tuple(warnings)


def worker_result_uri(result_uri: str, index: int) -> str:
    """Return where a host writes its record: host 0 to the result itself, others beside it.

    >>> worker_result_uri("gs://b/job-1/result.pkl", 3)
    'gs://b/job-1/result-worker-3.pkl'
    """
    if index == 0:
        return result_uri
    folder, slash, name = result_uri.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    return f"{folder}{slash}{stem}-worker-{index}{dot}{suffix}" if dot else f"{result_uri}-worker-{index}"
