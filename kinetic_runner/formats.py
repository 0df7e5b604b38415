"""Serialization formats: which one an artifact has, and which ones this pod accepts."""

from collections.abc import Mapping
from typing import Final

from kinetic_core.wire.names import ENV_ALLOWED_SERIALIZATION

KNOWN: Final = ("json", "pickle")


def format_of(uri: str) -> str:
    """Return the format of a payload or a result, told by its name.

    >>> format_of("gs://b/job-1/payload.json"), format_of("gs://b/job-1/payload.pkl")
    ('json', 'pickle')
    """
    return "json" if uri.endswith(".json") else "pickle"


def allowed_formats(asked: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is accepted: what the client asked for, narrowed by what this pod's administrator allows.

    Args:
        asked: Value of the flag; `None` where it is absent, and all known formats are asked for.
        environ: The pod's own environment.

    Raises:
        ValueError: One of them is unknown; lists the known ones.

    >>> allowed_formats("json,pickle", {"KINETIC_ALLOWED_SERIALIZATION": "json"})
    ('json',)
    """
    wanted = KNOWN if asked is None else _names(asked, "--allowed-serialization")
    limit = environ.get(ENV_ALLOWED_SERIALIZATION, "")
    if not limit.strip():
        return wanted
    narrow = _names(limit, ENV_ALLOWED_SERIALIZATION)
    return tuple(name for name in wanted if name in narrow)


def check_format(form: str, allowed: tuple[str, ...]) -> None:
    """Refuse a payload in a format that is not accepted, before it is opened.

    Raises:
        ValueError: It is not among them.
    """
    if form not in allowed:
        raise ValueError(f"Serialization format {form!r} not allowed. Allowed formats: {list(allowed)}")


def _names(text: str, source: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in found if name not in KNOWN]
    if unknown:
        raise ValueError(f"{source} names the unknown format {unknown[0]!r}; known formats: {list(KNOWN)}")
    return found
