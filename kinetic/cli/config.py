"""`kinetic config`: each setting, its value, and where it came from."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from kinetic.cli.options import AsJson
from kinetic.cli.output import print_fields, print_json, print_table
from kinetic.settings import DEFAULT, Provenance, Resolved

HIDDEN: Final = "(hidden)"

_OPEN: Final = {
    "backend": "(chosen from the accelerator)",
    "storage": "(the backend's own)",
    "output_dir": "(<store>/outputs/<job_id>)",
    "python": "(the client's)",
    "package_root": "(found from the function's file)",
    "log_level": "(only warnings)",
}
_KNOBS: Final = (
    ("package_root", "KINETIC_PACKAGE_ROOT", None),
    ("no_default_excludes", "KINETIC_NO_DEFAULT_EXCLUDES", "0"),
    ("context_size_warn_mb", "KINETIC_CONTEXT_SIZE_WARN_MB", "100"),
    ("payload_size_warn_mb", "KINETIC_PAYLOAD_SIZE_WARN_MB", "50"),
    ("cache", "KINETIC_CACHE", "on"),
    ("log_level", "KINETIC_LOG_LEVEL", None),
)
_TELLING_NAME: Final = re.compile(r"TOKEN|SECRET|KEY|PASSWORD|PASSWD|CREDENTIAL|SIGNATURE|\bSIG\b", re.IGNORECASE)
_TOKEN: Final = re.compile(
    r"\b(?:hf_|gh[opsu]_|github_pat_|glpat-|sk-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ)[A-Za-z0-9._-]{8,}"
)


def config(*, as_json: AsJson = False) -> None:
    """Print each setting and where it came from. Secrets are never printed."""
    from kinetic import settings
    from kinetic_core.model.request import RunOptions

    surroundings = settings.surroundings()
    resolved = settings.resolve(RunOptions(), surroundings)
    path = settings.profiles_path(surroundings)
    found = {**resolved.provenance, **_knobs(surroundings.environ)}
    if as_json:
        print_json(
            {
                "profile": resolved.profile,
                "profiles_file": str(path),
                "settings": {
                    name: {"value": _shown(value.value), "source": value.source} for name, value in found.items()
                },
            }
        )
        return
    rows = [[name, _text(name, value), value.source] for name, value in found.items()]
    print_table(["setting", "value", "source"], rows, empty="")
    print()
    print_fields({"profile": _profile(resolved), "profiles file": str(path)})


def redact(text: str) -> str:
    """Return the text without what looks like a secret: tokens, and a URL's user information and query.

    >>> redact("s3://id:secret@bucket/prefix?sig=1#part")
    's3://(hidden)@bucket/prefix?(hidden)'
    >>> redact("gs://bucket/prefix"), redact("hf_0123456789abcdef")
    ('gs://bucket/prefix', '(hidden)')
    """
    return _TOKEN.sub(HIDDEN, _without_credentials(text) if "://" in text else text)


def _without_credentials(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    place = f"{HIDDEN}@{parts.netloc.rpartition('@')[2]}" if "@" in parts.netloc else parts.netloc
    return urlunsplit((parts.scheme, place, parts.path, HIDDEN if parts.query else "", ""))


def _knobs(environ: Mapping[str, str]) -> dict[str, Provenance]:
    from kinetic.settings import variable

    made = {}
    for name, variable_name, default in _KNOBS:
        value = variable(environ, variable_name)
        made[name] = Provenance(
            value=default if value is None else value, source=DEFAULT if value is None else variable_name
        )
    return made


def _shown(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_shown(item) for item in value]
    return redact(value) if isinstance(value, str) else value


def _text(name: str, provenance: Provenance) -> str:
    value = _shown(provenance.value)
    if value is None:
        return _OPEN.get(name, "-")
    return ", ".join(value) or "-" if isinstance(value, list) else str(value)


def _profile(resolved: Resolved) -> str:
    return resolved.profile or "(none; see `kinetic profile --help`)"
