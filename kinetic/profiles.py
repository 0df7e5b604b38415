"""Profiles: named targets in one private JSON file, `~/.kinetic/profiles.json`.

```json
{"format": 1, "active": "work", "profiles": {"work": {"project": "my-project", "zone": "us-central1-a"}}}
```

A damaged file is an error that names it; it is never replaced. What a newer version wrote beside the
known keys is kept when the file is written again.
"""

import contextlib
import difflib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from kinetic_core.errors import ConfigError

FORMAT: Final = 1
FIELDS: Final = ("project", "zone", "cluster", "namespace", "backend", "storage", "ignore")
"""What a profile may say, in the order in which it is shown."""

_STORAGE_OPTIONS: Final = "storage_options"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean …?` for the nearest known name, or nothing.

    >>> did_you_mean("wrok", ["work", "home"])
    " Did you mean 'work'?"
    >>> did_you_mean("zzz", ["work"])
    ''
    """
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _text(_: Any, attribute: "attrs.Attribute[str | None]", value: Any) -> None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ConfigError(f"{attribute.name} must be non-empty text, got {value!r}")


def checked_storage_options(value: Any, where: str) -> Mapping[str, Mapping[str, Any]]:
    """Return options of stores by URL scheme.

    Args:
        value: What was read from JSON.
        where: Names its place in the message.

    Raises:
        ConfigError: It is no object of objects. The message shows none of it, for there may be secrets.
    """
    if isinstance(value, Mapping) and all(isinstance(options, Mapping) for options in value.values()):
        return value
    raise ConfigError(
        f"{where} must be a JSON object with an object of options for each URL scheme, such as"
        ' {"s3": {"endpoint_url": "https://s3.example.org"}}'
    )


def _options(_: Any, attribute: "attrs.Attribute[Mapping[str, Any]]", value: Any) -> None:
    checked_storage_options(value, attribute.name)


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def _texts(_: Any, attribute: "attrs.Attribute[tuple[str, ...]]", value: Any) -> None:
    if not isinstance(value, tuple) or not all(isinstance(item, str) and item.strip() for item in value):
        raise ConfigError(f"{attribute.name} must be a list of non-empty texts, got {value!r}")


@attrs.frozen(kw_only=True)
class Profile:
    """One named target; what it leaves open stays for the defaults.

    >>> Profile(zone="us-central1-a").to_json()
    {'zone': 'us-central1-a'}
    """

    project: str | None = attrs.field(default=None, validator=_text)
    zone: str | None = attrs.field(default=None, validator=_text)
    cluster: str | None = attrs.field(default=None, validator=_text)
    namespace: str | None = attrs.field(default=None, validator=_text)
    backend: str | None = attrs.field(default=None, validator=_text)
    storage: str | None = attrs.field(default=None, validator=_text)
    ignore: tuple[str, ...] = attrs.field(default=(), converter=_listed, validator=_texts)
    storage_options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict, validator=_options, repr=False)
    """What stores' fsspec drivers are told, by URL scheme. Credentials may be among it, so nothing shows it."""
    extra: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """Keys of a newer version, kept as they are."""

    def values(self) -> dict[str, Any]:
        """Return what the profile says, by field, and nothing for what it leaves open."""
        said = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in said.items() if value}

    def to_json(self) -> dict[str, Any]:
        """Return the profile as a JSON object."""
        known = {name: list(value) if isinstance(value, tuple) else value for name, value in self.values().items()}
        hidden = {_STORAGE_OPTIONS: self.storage_options} if self.storage_options else {}
        return {**self.extra, **known, **hidden}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Profile":
        """Read what `to_json` wrote.

        Raises:
            ConfigError: A field has the wrong type or is empty.
        """
        names = (*FIELDS, _STORAGE_OPTIONS)
        known = {name: raw[name] for name in names if raw.get(name) is not None}
        return cls(**known, extra={name: value for name, value in raw.items() if name not in names})


@attrs.frozen(kw_only=True)
class Profiles:
    """All profiles of a file. Immutable: each change is a new one, and `save` writes it."""

    path: Path
    active: str | None = None
    """Name of the profile in use where `KINETIC_PROFILE` names none."""
    by_name: Mapping[str, Profile] = attrs.field(factory=dict)
    extra: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """Keys of a newer version, kept as they are."""

    def get(self, name: str) -> Profile:
        """Return the profile of that name.

        Raises:
            ConfigError: There is none; the message suggests the nearest and lists those that exist.
        """
        if name in self.by_name:
            return self.by_name[name]
        if not self.by_name:
            message = (
                f"unknown profile {name!r}: {self.path} holds none; create it with `kinetic profile create {name}`"
            )
            raise ConfigError(message)
        known = ", ".join(sorted(self.by_name))
        raise ConfigError(
            f"unknown profile {name!r} in {self.path}.{did_you_mean(name, self.by_name)} It holds: {known}"
        )

    def with_profile(self, name: str, profile: Profile) -> "Profiles":
        """Return the profiles with this one added or replaced.

        Raises:
            ConfigError: The name holds other characters than letters, digits and `_ . -`.
        """
        if not _NAME.fullmatch(name):
            message = f"a profile's name is made of letters, digits, '_', '.' and '-' (64 at most), got {name!r}"
            raise ConfigError(message)
        return attrs.evolve(self, by_name={**self.by_name, name: profile})

    def without(self, name: str) -> "Profiles":
        """Return the profiles but this one; were it the active one, none is active any more.

        Raises:
            ConfigError: There is no such profile.
        """
        self.get(name)
        rest = {key: profile for key, profile in self.by_name.items() if key != name}
        return attrs.evolve(self, by_name=rest, active=None if self.active == name else self.active)

    def using(self, name: str | None) -> "Profiles":
        """Return the profiles with another one active, or none.

        Raises:
            ConfigError: There is no such profile.
        """
        if name is not None:
            self.get(name)
        return attrs.evolve(self, active=name)

    def save(self) -> None:
        """Write the file whole or not at all, readable by its owner only (0600, in a directory 0700).

        Raises:
            ConfigError: The file cannot be written; the message names it.
        """
        document = {
            **self.extra,
            "format": FORMAT,
            "active": self.active,
            "profiles": {name: profile.to_json() for name, profile in sorted(self.by_name.items())},
        }
        try:
            # A link, as managers of dot files make them, stays a link: its target is replaced.
            _write_private(self.path.resolve(), json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise ConfigError(f"cannot write the profiles file {self.path}: {error.strerror or error}") from error


def load_profiles(path: Path) -> Profiles:
    """Read the profiles file; one that does not exist holds no profiles.

    Raises:
        ConfigError: The file is damaged, of a newer format, or cannot be read; the message names it.

    >>> load_profiles(Path("/nonexistent/profiles.json")).by_name
    {}
    """
    try:
        raw = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return Profiles(path=path)
    except OSError as error:
        raise ConfigError(f"cannot read the profiles file {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"it is not readable as JSON ({error})") from error
    if not isinstance(raw, dict):
        raise _damaged(path, "it holds no JSON object")
    return _read(path, raw)


def _read(path: Path, raw: dict[str, Any]) -> Profiles:
    version, active, profiles = raw.get("format", FORMAT), raw.get("active"), raw.get("profiles", {})
    if not isinstance(version, int):
        raise _damaged(path, f"'format' is {version!r}, not a number")
    if version > FORMAT:
        message = f"the profiles file {path} has format {version}, newer than {FORMAT}; update kinetic-run"
        raise ConfigError(message)
    if active is not None and not isinstance(active, str):
        raise _damaged(path, f"'active' is {active!r}, not a name")
    if not isinstance(profiles, dict):
        raise _damaged(path, "'profiles' is no JSON object")
    return Profiles(
        path=path,
        active=active or None,
        by_name={name: _read_profile(path, name, entry) for name, entry in profiles.items()},
        extra={key: value for key, value in raw.items() if key not in ("format", "active", "profiles")},
    )


def _read_profile(path: Path, name: str, entry: Any) -> Profile:
    if not isinstance(entry, dict):
        raise _damaged(path, f"profile {name!r} is no JSON object")
    try:
        return Profile.from_json(entry)
    except ConfigError as error:
        raise _damaged(path, f"profile {name!r}: {error}") from error


def _damaged(path: Path, what: str) -> ConfigError:
    return ConfigError(f"the profiles file {path} is damaged: {what}. Repair it or move it away; it was not changed.")


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
