"""Serialization formats: which one an artifact has, and which ones this pod accepts.

Beside its own two, the runner knows those that distributions of the image offer: an entry point of group
`kinetic.formats` names the format and the module that implements it. Nobody looks for one until it is asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Protocol

from kinetic_core.wire.names import DEFAULT_FORMATS, ENV_ALLOWED_SERIALIZATION
from kinetic_runner import jsonformat
from kinetic_runner.image import image_path

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "kinetic.formats"


class PlainFormat(Protocol):
    """A module that carries values and no objects: `kinetic_runner.jsonformat`, or a stranger's."""

    @property
    def SUFFIX(self) -> str:  # noqa: N802 - a constant of a module
        """Of the files, with the dot."""

    def load_payload(self, path: Path, /) -> dict[str, Any]:
        """Return the payload in a file; its `func` is the description of the function."""

    def dump_result(self, record: dict[str, Any], /) -> bytes:
        """Return the bytes of a plain record, or raise where they cannot hold its `result`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of this image."""

    name: str
    plain: PlainFormat | None = None
    """What reads and writes it; `None` for pickle, which carries objects and has code of its own."""


PICKLE: Final = Format(name="pickle")
JSON: Final = Format(name="json", plain=jsonformat)


def format_of(uri: str) -> Format:
    """Return the format of a payload or a result, told by its suffix; without one it is a pickle.

    Raises:
        ValueError: Nothing in this image has that suffix; lists the known formats.

    >>> format_of("gs://b/job-1/payload.json").name, format_of("gs://b/job-1/payload.pkl").name
    ('json', 'pickle')
    """
    suffix = PurePosixPath(uri).suffix
    if suffix in {"", ".pkl"}:
        return PICKLE
    if suffix == jsonformat.SUFFIX:
        return JSON
    foreign, broken = _foreign(), []
    for entry in foreign:
        try:
            module = _load(entry)
        except Exception as error:  # noqa: BLE001 - a stranger's module must not keep another's from being found
            broken.append(f"; {entry.name!r} ({entry.value}) cannot be used: {type(error).__name__}: {error}")
        else:
            if suffix == module.SUFFIX:
                return Format(name=entry.name, plain=module)
    known = f"known formats: {_known(foreign)}{''.join(broken)}"
    raise ValueError(f"{PurePosixPath(uri).name} names the unknown format {suffix!r}; {known}")


def allowed_formats(asked: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is accepted: what the client asked for, narrowed by what this pod's administrator allows.

    Args:
        asked: Value of the flag; where it is absent, `None`, the runner's own formats are asked for.
        environ: The pod's own environment.

    Raises:
        ValueError: One of them is unknown; lists the known ones.

    >>> allowed_formats("json,pickle", {"KINETIC_ALLOWED_SERIALIZATION": "json"})
    ('json',)
    """
    wanted = DEFAULT_FORMATS if asked is None else _names(asked, "--allowed-serialization")
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
    if set(found) <= set(DEFAULT_FORMATS):
        return found
    known = _known(_foreign())
    unknown = [name for name in found if name not in known]
    if unknown:
        raise ValueError(f"{source} names the unknown format {unknown[0]!r}; known formats: {known}")
    return found


def _known(foreign: Iterable["EntryPoint"]) -> list[str]:
    return [*DEFAULT_FORMATS, *sorted({entry.name for entry in foreign})]


def _foreign() -> list["EntryPoint"]:
    """Return what the image offers; whatever the project holds, the workspace is not looked into."""
    with image_path():
        from importlib.metadata import entry_points

        return [entry for entry in entry_points(group=GROUP) if entry.name not in DEFAULT_FORMATS]


def _load(entry: "EntryPoint") -> PlainFormat:
    with image_path():
        module: PlainFormat = entry.load()
    lacking = [name for name in ("SUFFIX", "load_payload", "dump_result") if not hasattr(module, name)]
    if lacking:
        raise TypeError(f"the module lacks {', '.join(lacking)}")
    return module
