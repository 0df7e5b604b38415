"""Writing the call: what it holds is learnt on the way, where the format meets every object anyway."""

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs

from kinetic.jobs.connection import Connection
from kinetic_core.model.package import PackageRoot
from kinetic_core.model.request import RunRequest
from kinetic_core.packaging.call import Call, WrittenPayload
from kinetic_core.packaging.captured import refuse_captured
from kinetic_core.packaging.meeting import ReferenceMet, can_be_met
from kinetic_core.packaging.modules import first_party_modules
from kinetic_core.plugin import Serializer

_OURS: Final = ("kinetic", "kinetic_core", "kinetic_runner")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PayloadWriting:
    """The writing of one call by the serializer that was asked for."""

    serializer: Serializer
    target: Path
    first_party: Mapping[str, ModuleType] = attrs.field(repr=False)
    own_packages: frozenset[str]
    types: tuple[type, ...]
    """Whose objects travel as references."""

    @classmethod
    def of(
        cls, request: RunRequest, connection: Connection, root: PackageRoot, serializer: Serializer, target: Path
    ) -> "PayloadWriting":
        """Learn which code is the project's own."""
        host = connection.host
        own = frozenset({*_OURS, *(info.module.partition(".")[0] for info in host.plugins())})
        return cls(
            serializer=serializer,
            target=target,
            first_party=first_party_modules(
                root.path, request.surroundings, dict(sys.modules), own_packages=own, known=_known(root.path, own)
            ),
            own_packages=own,
            types=tuple(kind.python_type for kind in host.reference_types()),
        )

    @property
    def seeks(self) -> bool:
        """Tell whether writing alone shows that a call holds nothing that travels as a reference."""
        return self.serializer.seek is not None and can_be_met(self.types)

    def seek(self, call: Call) -> WrittenPayload:
        """Write a call that nobody has looked through.

        Raises:
            ReferenceMet: It holds something that travels as a reference, or may hold it.
            SerializationError: Something cannot travel.
        """
        if self.serializer.seek is None or not self.seeks:
            raise ReferenceMet
        return self.serializer.seek(
            call, self.target, first_party=self.first_party, own_packages=self.own_packages, references=self.types
        )

    def refuse_captured(self, function: Callable[..., Any]) -> None:
        """Refuse a function that captures what only an argument can hold.

        Raises:
            SerializationError: Names each place.
        """
        refuse_captured(function, matches=lambda value: isinstance(value, self.types), first_party=self.first_party)

    def write(self, call: Call) -> WrittenPayload:
        """Write a call that was walked.

        Raises:
            SerializationError: Something cannot travel.
        """
        return self.serializer.write(call, self.target, first_party=self.first_party, own_packages=self.own_packages)


@functools.lru_cache(maxsize=4)
def _known(_root: Path, _own: frozenset[str]) -> dict[str, ModuleType]:
    """Return what earlier packagings of a root found to be no modules of its; filled in by them."""
    return {}
