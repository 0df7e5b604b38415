"""The runner's environment: made of a short list of what may pass, so that nothing of the client leaks in."""

import json
from collections.abc import Mapping
from typing import Any, Final

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


_INSTALLER: Final = frozenset(f"{kind}_proxy" for kind in ("http", "https", "all", "no")) | frozenset(
    ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NETRC", "SSH_AUTH_SOCK")
)
_INSTALLER_PREFIXES: Final = ("PIP_", "UV_", "XDG_", "GIT_SSH")
_MISLEADING: Final = frozenset(("PIP_PREFIX", "PIP_PYTHON", "PIP_ROOT", "PIP_TARGET", "PIP_USER"))
"""Where else than into the environment pip is to install."""
_NEVER_INHERITED: Final = frozenset(
    (
        *("PYTHONPATH", "PYTHONHOME", "TPU_WORKER_ID", "LWS_WORKER_INDEX", "JOB_COMPLETION_INDEX"),
        *(names.ENV_ATTEMPT, names.ENV_COORDINATOR),
    )
)
"""Where the client finds its modules, and which host of another job it is, in which attempt."""

StorageOptions = Mapping[str, Mapping[str, Any]]
_NONE: Final[StorageOptions] = {}
_STORES: Final = {
    ("gs", "gcs"): (
        (
            "CLOUDSDK_CONFIG",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_PROJECT",
            "NO_GCE_CHECK",
            "STORAGE_EMULATOR_HOST",
        ),
        ("FSSPEC_", "GCSFS_"),
    ),
    ("s3", "s3a"): ((), ("AWS_", "FSSPEC_")),
    ("abfs", "abfss", "az"): ((), ("AZURE_", "FSSPEC_")),
}
"""Names, and beginnings of names, that a job sees only where its store is of that kind: it needs them to read it."""


def passing(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of the client's environment passes through.

    >>> passing({"PATH": "/bin", "PYTHONPATH": "/secret", "LC_ALL": "C", "AWS_SECRET_ACCESS_KEY": "x"})
    {'PATH': '/bin', 'LC_ALL': 'C'}
    """
    return {name: value for name, value in environ.items() if name in _NAMES or name.startswith(_PREFIXES)}


def store_access(spec: JobSpec, environ: Mapping[str, str], options: StorageOptions) -> dict[str, str]:
    """Return the variables by which drivers on the pod reach the stores that the client reaches.

    Args:
        spec: The job; what belongs to another kind of store than its own does not pass.
        environ: The client's.
        options: What the user said to drivers, by URL scheme.
    """
    scheme = spec.job_url.partition("://")[0]
    exact, beginnings = next((found for schemes, found in _STORES.items() if scheme in schemes), ((), ()))
    access = {name: value for name, value in environ.items() if name in exact or name.startswith(beginnings)}
    return access | {f"FSSPEC_{scheme.upper()}": json.dumps(said) for scheme, said in options.items()}


def installer_environ(spec: JobSpec, environ: Mapping[str, str], options: StorageOptions) -> dict[str, str]:
    """Return the environment in which packages are installed: with what tells installers where from.

    Args:
        spec: The job, whose store holds the list of packages.
        environ: The client's.
        options: What the user said to stores' drivers, by URL scheme.
    """
    told = {
        name: value
        for name, value in environ.items()
        if name not in _MISLEADING and (name in _INSTALLER or name.startswith(_INSTALLER_PREFIXES))
    }
    return passing(environ) | store_access(spec, environ, options) | told


def runner_environ(spec: JobSpec, environ: Mapping[str, str], options: StorageOptions = _NONE) -> dict[str, str]:
    """Return the runner's environment; captured variables are not in it, they travel in the payload.

    Args:
        spec: The job, with its secrets.
        environ: The client's.
        options: What the user said to stores' drivers, by URL scheme.
    """
    whole = {name: value for name, value in environ.items() if name not in _NEVER_INHERITED}
    return (
        (whole if spec.options.inherit_env else passing(environ))
        | store_access(spec, environ, options)
        | dict(spec.secrets)
        | {
            **_OF_EVERY_RUNNER,
            names.ENV_JOB_ID: spec.job_id,
            names.ENV_OUTPUT_DIR: spec.output_dir,
            names.ENV_HOST_INDEX: "0",
            names.ENV_NUM_HOSTS: str(spec.options.hosts or 1),
        }
    )


def standby_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a runner's environment has whatever its job is: all that acts when an interpreter starts.

    Args:
        environ: The client's.
    """
    return passing(environ) | _OF_EVERY_RUNNER
