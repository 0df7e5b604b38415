"""The keywords of `kinetic.run`, checked when the function is decorated."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import attrs

from kinetic_core.errors import ConfigError, UsageError
from kinetic_core.model.accelerator import parse_accelerator
from kinetic_core.model.request import RunOptions
from kinetic_core.references.data import Data


class RunKeywords(TypedDict, total=False):
    """Keywords of `kinetic.run`, `options` and `package`; all optional.

    Their meaning and defaults stand in the documentation of `kinetic.run`.
    """

    accelerator: str
    allowed_serialization: Sequence[str] | str | None
    backend: str | None
    base_image_repo: str | None
    capture_env_vars: Sequence[str]
    cluster: str | None
    container_image: str | None
    cpu_time_limit: float | None
    debug: bool
    file_mounts: Mapping[str, str] | None
    hosts: int | None
    ignore: Sequence[str] | str
    inherit_env: bool
    isolation: str | None
    labels: Mapping[str, str] | None
    memory_limit: str | None
    namespace: str | None
    output_dir: str | None
    project: str | None
    python: str | None
    retries: int
    secrets: Sequence[str]
    serialization: str
    spot: bool
    storage: str | None
    timeout: float | None
    volumes: Mapping[str, Data] | None
    zone: str | None


_KNOWN = tuple(field.name for field in attrs.fields(RunOptions))


def change_options(options: RunOptions, keywords: Mapping[str, Any]) -> RunOptions:
    """Return the options with some keywords changed, each checked.

    Raises:
        UsageError: An unknown keyword (the nearest name is suggested), or a value of the wrong type.
        ConfigError: A value that cannot be used, such as an accelerator that nobody knows.

    >>> change_options(RunOptions(), {"accelerator": "cpu"}).accelerator
    'cpu'
    """
    for keyword in keywords:
        if keyword not in _KNOWN:
            near = difflib.get_close_matches(keyword, _KNOWN, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it takes {', '.join(sorted(_KNOWN))}"
            raise UsageError(f"kinetic.run has no keyword {keyword!r}{hint}")
    changed = attrs.evolve(options, **keywords)
    parse_accelerator(changed.accelerator)
    for mount, data in changed.volumes.items():
        if not isinstance(data, Data):
            raise UsageError(
                f"volumes[{mount!r}] must be a kinetic.Data, got {data!r} of type {type(data).__name__};"
                f" write kinetic.Data({data!r})"
            )
    if changed.file_mounts:
        raise ConfigError(
            "file_mounts is not available in this release; ship files inside the project, or pass them as kinetic.Data"
        )
    return changed
