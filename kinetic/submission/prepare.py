"""Packaging a request: the core's steps in order, fed with what plugins add."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from kinetic._version import __version__
from kinetic.jobs.connection import Connection
from kinetic_core.errors import ConfigError
from kinetic_core.findings import Finding
from kinetic_core.model.package import Artifact, Package, PackageRoot
from kinetic_core.model.request import RunRequest
from kinetic_core.plugin import BackendDriver, Reference, ReferenceHandler, ReferenceType, Storage
from kinetic_core.wire import names


@attrs.frozen(kw_only=True)
class Prepared:
    """A package, and what has to be staged beside it."""

    package: Package
    data: tuple[tuple[ReferenceHandler, Any], ...]
    """Objects whose content travels apart, each once."""
    volumes: tuple[Reference, ...]
    output_dir: str
    """URL, or empty when there is no store yet."""


def read_secrets(request: RunRequest) -> dict[str, str]:
    """Return the values of the variables named in `secrets`.

    Raises:
        ConfigError: Some are not set; the message names them all.
    """
    environ = request.surroundings.environ
    unset = [name for name in request.options.secrets if name not in environ]
    if unset:
        raise ConfigError(f"secrets names variables that are not set here: {', '.join(unset)}")
    return {name: environ[name] for name in request.options.secrets}
