"""The runner's environment: made of a short list of what may pass, so that nothing of the client leaks in."""

from collections.abc import Mapping
from typing import Final

from kinetic_core.model.job import JobSpec
from kinetic_core.wire import names

PASSING: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "SSL_CERT_*",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    names.ENV_LOG_LEVEL,
)
"""Names, and beginnings of names, of the client's variables that a job sees without having captured them."""


_NAMES: Final = frozenset(PASSING)
_PREFIXES: Final = tuple(name.removesuffix("*") for name in PASSING if name.endswith("*"))
_OF_EVERY_RUNNER: Final = {"PYTHONUNBUFFERED": "1"}


def passing(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of the client's environment passes through.

    >>> passing({"PATH": "/bin", "PYTHONPATH": "/secret", "LC_ALL": "C", "AWS_SECRET_ACCESS_KEY": "x"})
    {'PATH': '/bin', 'LC_ALL': 'C'}
    """
    return {name: value for name, value in environ.items() if name in _NAMES or name.startswith(_PREFIXES)}


def runner_environ(spec: JobSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the runner's environment; captured variables are not in it, they travel in the payload.

    Args:
        spec: The job, with its secrets.
        environ: The client's.
    """
    return (
        passing(environ)
        | dict(spec.secrets)
        | {
            **_OF_EVERY_RUNNER,
            names.ENV_JOB_ID: spec.job_id,
            names.ENV_OUTPUT_DIR: spec.output_dir,
            names.ENV_HOST_INDEX: "0",
            names.ENV_NUM_HOSTS: "1",
        }
    )


def standby_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a runner's environment has whatever its job is: all that acts when an interpreter starts.

    Args:
        environ: The client's.
    """
    return passing(environ) | _OF_EVERY_RUNNER
