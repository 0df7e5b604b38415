"""Names and labels as Kubernetes takes them: safe, short enough, and distinct though they were cut."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Final

from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobSpec

APP: Final = "app"
APP_VALUE: Final = "kinetic"
JOB_ID: Final = "job-id"
ANNOTATION_NAME: Final = "kinetic-run/name"
ANNOTATION_JOB_URL: Final = "kinetic-run/job-url"
ANNOTATION_ACCELERATOR: Final = "kinetic-run/accelerator"
ANNOTATION_ENDED_AS: Final = "kinetic-run/ended-as"
ANNOTATION_ENDED_BECAUSE: Final = "kinetic-run/ended-because"
ANNOTATION_ENDED_AT: Final = "kinetic-run/ended-at"
ANNOTATION_ARRAY: Final = "kinetic-run/array"
ARRAY: Final = "kinetic-run-array"
"""Label of a Job that is an array."""
QUEUE: Final = "kueue.x-k8s.io/queue-name"

NAME_LIMIT: Final = 52
"""Of a Job: the host names of its pods are it and their index, 63 characters at most, as its pods' labels are."""
_LABEL_LIMIT: Final = 63
_PREFIX_LIMIT: Final = 253
_DIGITS: Final = 8
_KUEUE: Final = "kueue.x-k8s.io/"
_OURS: Final = frozenset((APP, JOB_ID, "controller-uid", "job-name"))
_CONTROLLERS: Final = "batch.kubernetes.io/"
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def job_name(job_id: str) -> str:
    """Return the name of a job's Job, Secret and Service.

    >>> job_name("job-0a1b2c3d")
    'kinetic-job-0a1b2c3d'
    """
    return dns_name(f"kinetic-{job_id}", limit=NAME_LIMIT)


def dns_name(text: str, *, limit: int = _LABEL_LIMIT) -> str:
    """Make a DNS-1123 label; texts that differ make labels that differ.

    >>> dns_name("kinetic-job-0a1b2c3d"), dns_name("My_Job")
    ('kinetic-job-0a1b2c3d', 'my-job-1ce4a870')
    """
    safe = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return _distinct(text, safe, limit, "-")


def label_value(text: str) -> str:
    """Make a label's value; texts that differ make values that differ.

    >>> label_value("team-a_1.2"), label_value("team a")
    ('team-a_1.2', 'team-a-35a62206')
    """
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-_.")
    return _distinct(text, safe, _LABEL_LIMIT, "-_.")


def job_labels(spec: JobSpec) -> dict[str, str]:
    """Return the labels of a Job: ours, and the user's made safe.

    Raises:
        ConfigError: A label's key cannot be used; all of them are named.
    """
    check_labels(spec.options.labels)
    labels = {key: label_value(value) for key, value in spec.options.labels.items()}
    return labels | {APP: APP_VALUE, JOB_ID: label_value(spec.job_id)}


def check_labels(labels: Mapping[str, str]) -> None:
    """Refuse what cannot be labels.

    Raises:
        ConfigError: A label's key cannot be used; all of them are named.
    """
    problems = [problem for key, value in labels.items() for problem in _problems(key, value)]
    if problems:
        raise ConfigError(f"labels that Kubernetes cannot take: {'; '.join(problems)}")


def pod_labels(spec: JobSpec) -> dict[str, str]:
    """Return the labels of a job's pods; what Kueue reads stands on the Job alone.

    Raises:
        ConfigError: As `job_labels`.
    """
    return {key: value for key, value in job_labels(spec).items() if not key.startswith(_KUEUE)}


def selector(labels: Mapping[str, str]) -> str:
    """Return the text by which the API lists what has these labels.

    >>> selector({"app": "kinetic", "job-id": "job-0a1b2c3d"})
    'app=kinetic,job-id=job-0a1b2c3d'
    """
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _distinct(text: str, safe: str, limit: int, ends: str) -> str:
    if safe == text and 0 < len(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    kept = safe[: limit - len(digest) - 1].rstrip(ends)
    return f"{kept}-{digest}" if kept else f"x{digest}"


def _problems(key: str, value: str) -> Iterator[str]:
    prefix, slash, name = key.rpartition("/")
    if key in _OURS or key.startswith(_CONTROLLERS):
        yield f"{key!r} is taken, give it another key"
    elif not _is_name(name) or (slash and not _is_domain(prefix)):
        yield f"{key!r} is no label's key, use letters, digits, '-', '_' and '.', 63 characters at most"
    elif key.startswith(_KUEUE) and label_value(value) != value:
        yield f"{value!r} cannot be what {key!r} names"


def _is_name(name: str) -> bool:
    return len(name) <= _LABEL_LIMIT and _NAME.fullmatch(name) is not None


def _is_domain(prefix: str) -> bool:
    return len(prefix) <= _PREFIX_LIMIT and _DOMAIN.fullmatch(prefix) is not None
