"""Reference types: objects that stay behind while a reference to their content travels."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs

from kinetic_core.findings import Finding
from kinetic_core.plugin.context import DriverContext
from kinetic_core.plugin.fields import is_text
from kinetic_core.plugin.storage import Storage
from kinetic_core.wire.reference import Reference


class ReferenceHandler(Protocol):
    """Turns one type of object into references."""

    def local_path(self, value: Any) -> Path | None:
        """Return the local path whose content travels apart from the context, so that the archive leaves it out."""

    def reference(self, value: Any, *, store_url: str | None) -> Reference:
        """Return the reference, uploading nothing.

        Args:
            value: The object.
            store_url: The store in which `stage` will put the content; `None` names it by content alone
                (`cache:<sha256>`).
        """

    def findings(self, value: Any) -> Sequence[Finding]:
        """Say what the user should know before the content is uploaded, such as its size."""

    def stage(self, value: Any, storage: Storage) -> bool:
        """Make sure that the content lies in the store; tell whether this call uploaded it."""

    def unstage(self, value: Any, storage: Storage) -> None:
        """Remove from the store what `stage` uploaded for a submission that failed."""


@attrs.frozen(kw_only=True)
class ReferenceType:
    """Says which Python type is a reference and how to open its handler."""

    name: str = attrs.field(validator=is_text)
    python_type: type = attrs.field(validator=attrs.validators.instance_of(type))
    open: Callable[[DriverContext], ReferenceHandler] = attrs.field(validator=attrs.validators.is_callable())
