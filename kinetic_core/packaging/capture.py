"""Capturing environment variables by exact name and by prefix."""

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from kinetic_core.errors import UsageError
from kinetic_core.findings import Finding, Severity
from kinetic_core.packaging.printable import printable

# What describes the client's machine rather than the job: a prefix pattern never takes it to the pod.
NEVER_BY_PREFIX: Final = frozenset(
    [
        "PATH",
        "HOME",
        "PYTHONPATH",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "CONDA_DEFAULT_ENV",
        "SHELL",
        "TMPDIR",
        "TEMP",
        "TMP",
        "HOSTNAME",
        "USER",
        "LOGNAME",
        "SSH_AUTH_SOCK",
        "KUBERNETES_SERVICE_HOST",
        "KERAS_BACKEND",
    ]
)
_SECRET_WORDS: Final = ("TOKEN", "SECRET", "KEY", "PASSWORD", "CREDENTIAL")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Captured:
    """Environment variables that travel in the payload."""

    values: Mapping[str, str] = attrs.field(repr=False)
    names: tuple[str, ...]
    """Sorted."""
    skipped: tuple[str, ...]
    """Names that a prefix pattern would have taken, kept out because they describe this machine; sorted."""
    findings: tuple[Finding, ...] = ()
    """They hold names, never a value."""


def capture(names: Iterable[str], environ: Mapping[str, str]) -> Captured:
    """Take variables out of an environment.

    Args:
        names: Exact names, and prefix patterns: names that end in `*` (`"*"` is every name). A `*` elsewhere
            is an ordinary character.
        environ: The client's environment.

    Raises:
        UsageError: A single string instead of a list of names.

    >>> capture(["HF_*", "PATH", "UNSET"], {"HF_HOME": "/h", "PATH": "/bin", "HOME": "/root"}).names
    ('HF_HOME', 'PATH')
    """
    if isinstance(names, str | bytes):
        raise UsageError(
            f"capture_env_vars must be a list of names, not the single string {names!r}; write [{names!r}]"
        )
    asked = tuple(names)
    prefixes = tuple(name[:-1] for name in asked if name.endswith("*"))
    exact = {name for name in asked if not name.endswith("*") and name in environ}
    by_prefix = {name for name in environ if name.startswith(prefixes)} - exact
    skipped = by_prefix & NEVER_BY_PREFIX
    captured = sorted(exact | by_prefix - skipped)
    return Captured(
        values={name: environ[name] for name in captured},
        names=tuple(captured),
        skipped=tuple(sorted(skipped)),
        findings=_findings(captured, sorted(skipped), asked=bool(asked)),
    )


def _findings(captured: list[str], skipped: list[str], *, asked: bool) -> tuple[Finding, ...]:
    if not asked:
        return ()
    left_out = f"; kept out, as they describe this machine: {_listed(skipped)}" if skipped else ""
    message = f"environment variables captured: {_listed(captured) or 'none'}{left_out}"
    found = [Finding(code="environment_captured", severity=Severity.INFO, message=message)]
    secret = [name for name in captured if any(word in name.upper() for word in _SECRET_WORDS)]
    if secret:
        found.append(
            Finding(
                code="environment_secret",
                severity=Severity.WARNING,
                message=f"captured variables look like secrets: {_listed(secret)}; their values lie in the payload"
                " in the job store, readable by every job",
                remedy="name them in secrets=[...] instead, which keeps them out of every artifact",
            )
        )
    return tuple(found)


def _listed(names: list[str]) -> str:
    return ", ".join(printable(name) for name in names)
