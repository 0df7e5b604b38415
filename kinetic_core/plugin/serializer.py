"""Serializers: formats that carry a call and its result."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Protocol

import attrs

from kinetic_core.packaging.call import Call, WrittenPayload
from kinetic_core.plugin.fields import is_text
from kinetic_core.wire.result import Result


class PayloadWriter(Protocol):
    """Writes a call into a file, whole or not at all."""

    def __call__(
        self, call: Call, target: Path, *, first_party: Mapping[str, ModuleType], own_packages: Collection[str]
    ) -> WrittenPayload:
        """Write the payload.

        Args:
            call: What to write.
            target: The file; its directory exists.
            first_party: Modules of the project, whose code the pod cannot import unless it ships.
            own_packages: Packages of kinetic-run and its plugins, which the pod need not have.
        """


class PayloadSeeker(Protocol):
    """Writes a call whose arguments nobody has looked through, unless it meets a reference in it."""

    def __call__(
        self,
        call: Call,
        target: Path,
        *,
        first_party: Mapping[str, ModuleType],
        own_packages: Collection[str],
        references: tuple[type, ...],
    ) -> WrittenPayload:
        """Write the payload as a `PayloadWriter` does.

        Args:
            call: What to write.
            target: The file; its directory exists.
            first_party: Modules of the project, whose code the pod cannot import unless it ships.
            own_packages: Packages of kinetic-run and its plugins, which the pod need not have.
            references: Types whose instances travel as references.

        Raises:
            ReferenceMet: The call holds an instance of one, or may hold one that cannot be seen; nothing was written.
        """


@attrs.frozen(kw_only=True)
class Serializer:
    """A format that carries a call and its result. Making one imports nothing heavy; `write` and `read` do.

    It is the client's half; the pod's is a module that an entry point of group `kinetic.formats` offers.

    >>> Serializer(name="msgpack", suffix=".msgpack", write=lambda call, target, **code: None, read=open).suffix
    '.msgpack'
    """

    name: str = attrs.field(validator=is_text)
    suffix: str = attrs.field(validator=attrs.validators.matches_re(r"\.\w+"))
    """Of the files `payload` and `result`, with the dot; by it the runner knows the format."""
    write: PayloadWriter = attrs.field(validator=attrs.validators.is_callable())
    read: Callable[[Path], Result] = attrs.field(validator=attrs.validators.is_callable())
    """Reads a result file that a pod wrote."""
    seek: PayloadSeeker | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.is_callable())
    )
    """Writes what has not been walked yet, for formats that meet every object anyway. Without it, the arguments of
    every call are walked first."""
