"""Settings: what the user chose and where each choice came from. The client's only reader of `os.environ`.

Highest first: argument of `kinetic.run`, `KINETIC_*` variable, active profile, `GOOGLE_CLOUD_PROJECT` (for the
project), default. An empty variable counts as unset.
"""

import functools
import hashlib
import json
import os
import re
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import attrs

from kinetic.profiles import Profile, Profiles, checked_storage_options, load_profiles
from kinetic_core.errors import ConfigError, KineticError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.request import RunOptions, Surroundings
from kinetic_core.wire import names

ENV_PROFILE: Final = "KINETIC_PROFILE"
ENV_PROFILES_FILE: Final = "KINETIC_PROFILES_FILE"
ENV_LOG_LEVEL: Final = "KINETIC_LOG_LEVEL"
ENV_CACHE: Final = "KINETIC_CACHE"
ENV_HOSTS: Final = "KINETIC_HOSTS"
ENV_STORAGE_OPTIONS: Final = "KINETIC_STORAGE_OPTIONS"

ARGUMENT: Final = "argument"
DEFAULT: Final = "default"

CacheMode = Literal["on", "off", "verify"]
CACHE_MODES: Final[tuple[CacheMode, ...]] = ("on", "off", "verify")

_MACHINE_ID: Final = Path("/etc/machine-id")
_UNSAID: Final = RunOptions()


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _hosts(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{ENV_HOSTS} must be a whole number of 1 or more, got {text!r}")
    return int(text)


@attrs.frozen(kw_only=True)
class Setting:
    """One option that environment, profile and default may fill in."""

    name: str
    """Field of `RunOptions`."""
    variable: str
    default: str | int | tuple[str, ...] | None = None
    fallback_variable: str | None = None
    """Read after the profile."""
    parse: Callable[[str], Any] = str


SETTINGS: Final = (
    Setting(name="backend", variable="KINETIC_BACKEND"),
    Setting(name="storage", variable="KINETIC_STORAGE"),
    Setting(name="project", variable="KINETIC_PROJECT", fallback_variable="GOOGLE_CLOUD_PROJECT"),
    Setting(name="zone", variable="KINETIC_ZONE", default="us-central1-a"),
    Setting(name="cluster", variable="KINETIC_CLUSTER", default="kinetic-cluster"),
    Setting(name="namespace", variable="KINETIC_NAMESPACE", default="default"),
    Setting(name="base_image_repo", variable="KINETIC_BASE_IMAGE_REPO", default="kinetic"),
    Setting(name="output_dir", variable=names.ENV_OUTPUT_DIR),
    Setting(name="ignore", variable="KINETIC_IGNORE", default=(), parse=_names),
    Setting(
        name="allowed_serialization",
        variable=names.ENV_ALLOWED_SERIALIZATION,
        default=names.DEFAULT_FORMATS,
        parse=_names,
    ),
    Setting(name="isolation", variable="KINETIC_ISOLATION", default="process"),
    Setting(name="python", variable="KINETIC_PYTHON"),
    Setting(name="hosts", variable=ENV_HOSTS, default=1, parse=_hosts),
)
"""In the order in which `kinetic config` shows them. Backend, storage and output directory may stay open:
hooks, the backend and the job id settle them later."""


@attrs.frozen(kw_only=True)
class Provenance:
    """A value and who said so."""

    value: Any
    source: str
    """`argument`, a variable's name, `profile 'work'`, or `default`."""


@attrs.frozen(kw_only=True)
class Resolved:
    """Options with everything filled in that can be known before the hooks choose."""

    options: RunOptions
    provenance: Mapping[str, Provenance]
    """By field of `RunOptions`."""
    profile: str | None = None
    """Name of the active profile."""


def surroundings() -> Surroundings:
    """Return what this process looks like now: environment, home, working directory, `sys.path`.

    Raises:
        ConfigError: The working directory no longer exists.
    """
    environ = dict(os.environ)
    import_path: list[object] = list(sys.path)
    try:
        cwd = Path.cwd()
    except FileNotFoundError as error:
        message = "the current working directory no longer exists; change to one that does"
        raise ConfigError(message) from error
    return Surroundings(
        environ=environ,
        home=_home(environ, cwd),
        cwd=cwd,
        sys_path=tuple(entry for entry in import_path if isinstance(entry, str)),
    )


def resolve(options: RunOptions, surroundings: Surroundings) -> Resolved:
    """Fill in what the options leave open, and remember where each value came from.

    Args:
        options: As given to `kinetic.run`.
        surroundings: The process at the time of the call; its environment and home are read.

    Raises:
        ConfigError: The profiles file is damaged, or names no such profile.

    >>> where = Surroundings(environ={"KINETIC_ZONE": "europe-west4-b"}, home=Path("/h"), cwd=Path("/"), sys_path=())
    >>> resolve(RunOptions(), where).provenance["zone"]
    Provenance(value='europe-west4-b', source='KINETIC_ZONE')
    """
    profile_name, profile = _active_profile(surroundings)
    found = {
        setting.name: _look_up(setting, options, surroundings.environ, profile_name, profile.values())
        for setting in SETTINGS
    }
    try:
        filled = attrs.evolve(options, **{name: provenance.value for name, provenance in found.items()})
    except KineticError as error:
        _name_source(error, found)
        raise
    return Resolved(options=filled, provenance=found, profile=profile_name)


def variable(environ: Mapping[str, str], name: str) -> str | None:
    """Return the variable's value without surrounding blanks; an empty one counts as unset.

    >>> variable({"KINETIC_ZONE": " "}, "KINETIC_ZONE") is None
    True
    """
    return environ.get(name, "").strip() or None


def accepted_formats(surroundings: Surroundings) -> tuple[str, ...] | None:
    """Return the serialization formats that this client opens of others; `None` where it does not say."""
    said = variable(surroundings.environ, names.ENV_ALLOWED_SERIALIZATION)
    return None if said is None else _names(said) or None


def storage_options(surroundings: Surroundings) -> Mapping[str, Mapping[str, Any]]:
    """Return what the user says to stores' drivers, by URL scheme: the profile's, and the variable's over it.

    Raises:
        ConfigError: One of the two is no JSON object of objects; the message shows none of it.

    >>> environ = {"KINETIC_STORAGE_OPTIONS": '{"s3": {"anon": true}}'}
    >>> storage_options(Surroundings(environ=environ, home=Path("/h"), cwd=Path("/"), sys_path=()))
    {'s3': {'anon': True}}
    """
    merged = {scheme: dict(options) for scheme, options in _active_profile(surroundings)[1].storage_options.items()}
    text = variable(surroundings.environ, ENV_STORAGE_OPTIONS)
    if text is None:
        return merged
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    for scheme, options in checked_storage_options(said, ENV_STORAGE_OPTIONS).items():
        merged.setdefault(scheme, {}).update(options)
    return merged


def cache_mode(environ: Mapping[str, str]) -> tuple[CacheMode, tuple[Finding, ...]]:
    """Return how to use the cache of contexts, and a warning about a value that means nothing.

    >>> cache_mode({"KINETIC_CACHE": "off"})[0], cache_mode({})[0]
    ('off', 'on')
    """
    chosen = variable(environ, ENV_CACHE)
    for mode in CACHE_MODES:
        if chosen in {None, mode}:
            return mode, ()
    finding = Finding(
        code="setting_ignored",
        severity=Severity.WARNING,
        message=f"{ENV_CACHE}={chosen!r} means nothing; using 'on'",
        remedy=f"Set {ENV_CACHE} to one of: {', '.join(CACHE_MODES)}.",
    )
    return "on", (finding,)


def processors() -> int:
    """Return how many processors this process may use.

    >>> processors() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def in_pod(environ: Mapping[str, str] | None = None) -> bool:
    """Tell whether a process is a job's: then a call of a decorated function runs inline.

    Args:
        environ: Of the process; `None` for this one.

    >>> in_pod({"KINETIC_JOB_ID": "job-0a1b2c3d"})
    True
    """
    return variable(os.environ if environ is None else environ, names.ENV_JOB_ID) is not None


def kinetic_home(home: Path) -> Path:
    """Return the directory of this user's own state.

    >>> kinetic_home(Path("/home/ada")).as_posix()
    '/home/ada/.kinetic'
    """
    return home / ".kinetic"


def profiles_path(surroundings: Surroundings) -> Path:
    """Return where the profiles lie: `KINETIC_PROFILES_FILE`, else `~/.kinetic/profiles.json`."""
    chosen = variable(surroundings.environ, ENV_PROFILES_FILE)
    if chosen is None:
        return kinetic_home(surroundings.home) / "profiles.json"
    return surroundings.cwd / _expanded(chosen, surroundings.home)


def active_profile(profiles: Profiles, environ: Mapping[str, str]) -> str | None:
    """Return the name of the profile in use: `KINETIC_PROFILE`, else the file's own choice."""
    return variable(environ, ENV_PROFILE) or profiles.active


def safe_name(text: str, *, limit: int = 40) -> str:
    """Make a name that every object store takes: `[a-z0-9-]`, no empty part.

    >>> safe_name("My Training_Job!"), safe_name("***")
    ('my-training-job', 'x')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:limit].rstrip("-") or "x"


def store_folder(surroundings: Surroundings) -> str:
    """Return this user's folder in a shared store: `<user>-<8 hex of a stable machine and user hash>`."""
    user = variable(surroundings.environ, "LOGNAME") or variable(surroundings.environ, "USER") or _account_name()
    digest = hashlib.sha256(f"{machine()}\0{user}".encode(errors="surrogateescape")).hexdigest()
    return f"{safe_name(user)}-{digest[:8]}"


def _look_up(
    setting: Setting, options: RunOptions, environ: Mapping[str, str], profile_name: str | None, said: Mapping[str, Any]
) -> Provenance:
    argument = getattr(options, setting.name)
    if argument != getattr(_UNSAID, setting.name):
        return Provenance(value=argument, source=ARGUMENT)
    text = variable(environ, setting.variable)
    if text is not None and (value := setting.parse(text)):
        return Provenance(value=value, source=setting.variable)
    if setting.name in said:
        return Provenance(value=said[setting.name], source=f"profile {profile_name!r}")
    if setting.fallback_variable and (text := variable(environ, setting.fallback_variable)):
        return Provenance(value=text, source=setting.fallback_variable)
    return Provenance(value=setting.default, source=DEFAULT)


def _name_source(error: KineticError, found: Mapping[str, Provenance]) -> None:
    """Say where the value came from that the options refuse; who calls the function may never have seen it."""
    for name, provenance in found.items():
        if provenance.source in (ARGUMENT, DEFAULT):
            continue
        try:
            RunOptions(**{name: provenance.value})
        except KineticError:
            error.add_note(f"{name} was said by {provenance.source}")


def _active_profile(surroundings: Surroundings) -> tuple[str | None, Profile]:
    profiles = load_profiles(profiles_path(surroundings))
    name = active_profile(profiles, surroundings.environ)
    return name, Profile() if name is None else profiles.get(name)


def _home(environ: Mapping[str, str], cwd: Path) -> Path:
    chosen = variable(environ, "HOME")
    if chosen is not None:
        return cwd / chosen
    try:
        import pwd

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        return Path.home()


def _expanded(text: str, home: Path) -> Path:
    return home / text[2:] if text.startswith("~/") else Path(text)


def _account_name() -> str:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return "user"


@functools.cache
@functools.cache
def machine() -> str:
    """Return a text that tells this machine from others."""
    try:
        return _MACHINE_ID.read_text(encoding="ascii").strip() or socket.gethostname()
    except (OSError, ValueError):
        return socket.gethostname()
