"""Reference types: objects that stay behind while a reference to their content travels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import attrs

from kinetic_core.plugin.context import DriverContext
from kinetic_core.plugin.storage import Storage
from kinetic_core.wire.reference import Reference


class ReferenceHandler(Protocol):
    """Turns one type of object into references."""

    def local_path(self, value: Any) -> Path | None:
        """Return the local path whose content travels apart from the context, so that the archive leaves it out."""

    def unstaged(self, value: Any) -> Reference:
        """Return the reference by content alone, uploading nothing."""

    def stage(self, value: Any, storage: Storage) -> Reference:
        """Make sure that the content lies in the store, and return the reference to it."""


@attrs.frozen(kw_only=True)
class ReferenceType:
    """Says which Python type is a reference and how to open its handler."""

    name: str
    python_type: type
    open: Callable[[DriverContext], ReferenceHandler]
