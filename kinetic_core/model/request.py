"""What the user asked for: options of `kinetic.run`, and one call with them."""

import math
import posixpath
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from kinetic_core.errors import ConfigError, UsageError
from kinetic_core.model.quantity import size_in_bytes

ISOLATIONS: Final = ("process", "venv")
"""What a job on this machine may share with others: the interpreter's packages, or none."""
MOST_HOSTS: Final = 1024
_OF_THE_SYSTEM: Final = frozenset(("proc", "sys", "dev"))


def _tuple(value: Any) -> Any:
    """Make a tuple of any iterable but text, which the validator then refuses by name."""
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else value or ()


def _one_or_more(value: Any) -> Any:
    return (value,) if isinstance(value, str) else _tuple(value)


def _one_or_more_or_none(value: Any) -> Any:
    return None if value is None else _one_or_more(value)


def _mapping(value: Any) -> Any:
    return {} if value is None else dict(value) if isinstance(value, Mapping) else value


def _names(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    if value is None:
        return
    if isinstance(value, str | bytes):
        message = f"{attribute.name} must be a list of names, not the single string {value!r}; write [{value!r}]"
        raise UsageError(message)
    if not isinstance(value, tuple):
        message = f"{attribute.name} must be a list of names, got {value!r} of type {type(value).__name__}"
        raise UsageError(message)
    for name in value:
        if not isinstance(name, str):
            message = f"{attribute.name} must hold names (str), got {name!r} of type {type(name).__name__}"
            raise UsageError(message)


def _texts(_: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    if not isinstance(value, dict):
        message = f"{attribute.name} must be a dict, got {value!r} of type {type(value).__name__}"
        raise UsageError(message)
    for key, item in value.items():
        if not isinstance(key, str) or not isinstance(item, str):
            message = f"{attribute.name} must map text to text, got {key!r}: {item!r}"
            raise UsageError(message)


def _text_or_none(_: Any, attribute: "attrs.Attribute[str | None]", value: Any) -> None:
    if value is not None and (not isinstance(value, str) or not value):
        message = f"{attribute.name} must be non-empty text or None, got {value!r}"
        raise UsageError(message)


def _url_or_none(_: Any, attribute: "attrs.Attribute[str | None]", value: Any) -> None:
    if value is not None and "://" not in value:
        message = f"{attribute.name} must be a URL such as gs://bucket/outputs or file:///outputs, got {value!r}"
        raise ConfigError(message)


def _text(_: Any, attribute: "attrs.Attribute[str]", value: Any) -> None:
    if not isinstance(value, str) or not value:
        message = f"{attribute.name} must be non-empty text, got {value!r}"
        raise UsageError(message)


def _boolean(_: Any, attribute: "attrs.Attribute[bool]", value: Any) -> None:
    if not isinstance(value, bool):
        message = f"{attribute.name} must be True or False, got {value!r}"
        raise UsageError(message)


def _count(_: Any, attribute: "attrs.Attribute[int]", value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"{attribute.name} must be a whole number, got {value!r}"
        raise UsageError(message)
    if value < 0:
        message = f"{attribute.name} must be 0 or more, got {value}"
        raise ConfigError(message)


def _one_of_isolations(_: Any, _attribute: "attrs.Attribute[str | None]", value: Any) -> None:
    if value is not None and value not in ISOLATIONS:
        message = f"isolation must be one of {', '.join(map(repr, ISOLATIONS))}, got {value!r}"
        raise ConfigError(message)


def _count_of_hosts(_: Any, attribute: "attrs.Attribute[int | None]", value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"{attribute.name} must be a whole number, got {value!r}"
        raise UsageError(message)
    if not 1 <= value <= MOST_HOSTS:
        message = f"{attribute.name} must be from 1 to {MOST_HOSTS}, got {value}"
        raise ConfigError(message)


def _size_or_none(_: Any, attribute: "attrs.Attribute[str | None]", value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        message = f"{attribute.name} must be text such as '2Gi', got {value!r} of type {type(value).__name__}"
        raise UsageError(message)
    try:
        size_in_bytes(value)
    except ValueError as error:
        raise ConfigError(f"{attribute.name}: {error}") from None


def _seconds(_: Any, attribute: "attrs.Attribute[float | None]", value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"{attribute.name} must be a number of seconds or None, got {value!r}"
        raise UsageError(message)
    if not math.isfinite(value) or value <= 0:
        message = f"{attribute.name} must be a finite number of seconds above 0, or None for no limit, got {value!r}"
        raise ConfigError(message)


def _volumes(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        message = f"volumes must be a dict {{'/abs/mount': Data(...)}}, got {value!r} of type {type(value).__name__}"
        raise UsageError(message)
    for mount in value:
        if not isinstance(mount, str) or not posixpath.isabs(mount):
            message = f"volumes: the mount path {mount!r} must be absolute on the pod, such as '/data'"
            raise ConfigError(message)
        if (place := _closed_to_mounts(mount)) is not None:
            message = f"volumes: nothing can be mounted at {mount!r}, {place}; choose another, such as '/data'"
            raise ConfigError(message)
    return dict(value)


def _closed_to_mounts(mount: str) -> str | None:
    """Say what keeps a volume from an absolute path; `None` where nothing does."""
    if ".." in mount.split("/"):
        return "which climbs"
    if "\0" in mount:
        return "which holds a NUL"
    top = posixpath.normpath(mount).strip("/").partition("/")[0]
    if not top:
        return "the root of the pod's file system"
    return f"where the system keeps its own /{top}" if top in _OF_THE_SYSTEM else None


@attrs.frozen(kw_only=True)
class RunOptions:
    """Every keyword of `kinetic.run`, validated when the function is decorated.

    `None` means: not said here; the client fills it in from environment, profile or default.

    >>> RunOptions(accelerator="cpu", retries=2).retries
    2
    """

    accelerator: str = attrs.field(default="tpu-v5e-1", validator=_text)
    backend: str | None = attrs.field(default=None, validator=_text_or_none)
    container_image: str | None = attrs.field(default=None, validator=_text_or_none)
    base_image_repo: str | None = attrs.field(default=None, validator=_text_or_none)
    project: str | None = attrs.field(default=None, validator=_text_or_none)
    zone: str | None = attrs.field(default=None, validator=_text_or_none)
    cluster: str | None = attrs.field(default=None, validator=_text_or_none)
    namespace: str | None = attrs.field(default=None, validator=_text_or_none)
    capture_env_vars: tuple[str, ...] = attrs.field(default=(), converter=_tuple, validator=_names)
    secrets: tuple[str, ...] = attrs.field(default=(), converter=_tuple, validator=_names)
    volumes: Mapping[str, Any] = attrs.field(factory=dict, converter=_volumes)
    storage: str | None = attrs.field(default=None, validator=_text_or_none)
    file_mounts: Mapping[str, str] = attrs.field(factory=dict, converter=_mapping, validator=_texts)
    ignore: tuple[str, ...] = attrs.field(default=(), converter=_one_or_more, validator=_names)
    spot: bool = attrs.field(default=False, validator=_boolean)
    retries: int = attrs.field(default=0, validator=_count)
    timeout: float | None = attrs.field(default=None, validator=_seconds)
    output_dir: str | None = attrs.field(default=None, validator=[_text_or_none, _url_or_none])
    serialization: str = attrs.field(default="pickle", validator=_text)
    allowed_serialization: tuple[str, ...] | None = attrs.field(
        default=None, converter=_one_or_more_or_none, validator=_names
    )
    debug: bool = attrs.field(default=False, validator=_boolean)
    labels: Mapping[str, str] = attrs.field(factory=dict, converter=_mapping, validator=_texts)
    hosts: int | None = attrs.field(default=None, validator=_count_of_hosts)
    """Runners of one job, where the accelerator does not say it."""
    isolation: str | None = attrs.field(default=None, validator=_one_of_isolations)
    """`process` or `venv`. This and what follows is for jobs on this machine."""
    python: str | None = attrs.field(default=None, validator=_text_or_none)
    """Version, or path of an interpreter."""
    inherit_env: bool = attrs.field(default=False, validator=_boolean)
    memory_limit: str | None = attrs.field(default=None, validator=_size_or_none)
    """Of each process, such as `2Gi`."""
    cpu_time_limit: float | None = attrs.field(default=None, validator=_seconds)
    """Seconds of processor time of each process."""


@attrs.frozen(kw_only=True)
class Surroundings:
    """What the client's process looked like when the call was made; the core reads nothing else of it."""

    environ: Mapping[str, str] = attrs.field(repr=False)
    home: Path
    cwd: Path
    sys_path: tuple[str, ...] = attrs.field(repr=False)


@attrs.frozen(kw_only=True, eq=False)
class RunRequest:
    """One call to be run elsewhere, complete: what, with which arguments, under which options, from where."""

    job_id: str
    function: Callable[..., Any]
    """The plain function, never a `RemoteCallable`."""
    args: tuple[Any, ...] = attrs.field(default=(), repr=False)
    kwargs: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    options: RunOptions
    """With nothing left to choose but what the backend's hooks choose."""
    name: str
    """A readable name made of `[A-Za-z0-9_.-]`, at most 40 characters."""
    surroundings: Surroundings
