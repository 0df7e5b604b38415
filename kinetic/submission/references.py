"""Finding what travels apart in a call, and putting references in its place."""

import dataclasses
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from kinetic.jobs.connection import Connection
from kinetic_core.errors import UsageError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.request import RunRequest
from kinetic_core.packaging.callables import expand_partial
from kinetic_core.plugin import Reference, ReferenceHandler, ReferenceType
from kinetic_core.walk.extent import exceeds
from kinetic_core.walk.replace import Replaced, replace

_ID_BYTES = 8


@attrs.frozen(kw_only=True, eq=False, repr=False)
class References:
    """A call whose `Data` have been replaced, and all that is known of them."""

    walked: bool
    """Whether the arguments were looked through; else they may still hold what has to be replaced."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = attrs.field(repr=False)
    kwargs: Mapping[str, Any] = attrs.field(repr=False)
    data: tuple[tuple[ReferenceHandler, Any], ...]
    """Each object once, in arguments and volumes, with the handler that stages it."""
    made: tuple[Reference, ...]
    """In arguments and volumes."""
    volumes: tuple[Reference, ...]
    ids: tuple[str, ...]
    """Of the references in arguments."""
    local_paths: tuple[Path, ...]
    """What the archive leaves out."""
    types: tuple[type, ...]
    """The types whose objects travel as references."""
    findings: tuple[Finding, ...]

    @classmethod
    def of(
        cls, request: RunRequest, connection: Connection, store_url: str | None, *, most: int | None = None
    ) -> "References":
        """Replace every reference type's objects in the call, partial arguments included.

        Args:
            request: The call.
            connection: For the reference types.
            store_url: Where content will lie; `None` when nothing is to be submitted.
            most: Walk only arguments that hold no more values than that; by default any.

        Raises:
            PackagingError: One lies where nothing can take its place; the message names the position.
            DataNotFoundError: A local path does not exist.
        """
        maker = _Maker(connection, store_url)
        function, args, kwargs = expand_partial(request.function, request.args, request.kwargs)
        walked = most is None or not exceeds((*args, *kwargs.values()), most)
        replaced = (
            replace(args, kwargs, matches=maker.matches, make=maker.in_arguments)
            if walked
            else Replaced(args=args, kwargs=kwargs)
        )
        volumes = tuple(
            dataclasses.replace(maker.reference(data), mount_path=mount)
            for mount, data in request.options.volumes.items()
        )
        return cls(
            walked=walked,
            function=function,
            args=replaced.args,
            kwargs=replaced.kwargs,
            data=tuple(maker.data.values()),
            made=(*maker.made, *volumes),
            volumes=volumes,
            ids=tuple(reference.id for reference in maker.made),
            local_paths=maker.local_paths(),
            types=maker.types,
            findings=(*maker.findings(), *(_became_plain(note) for note in replaced.notes)),
        )


@attrs.define(eq=False, repr=False)
class _Maker:
    """Makes the references of one call."""

    _connection: Connection
    _store_url: str | None
    made: list[Reference] = attrs.field(factory=list, init=False)
    data: dict[int, tuple[ReferenceHandler, Any]] = attrs.field(factory=dict, init=False)
    types: tuple[type, ...] = attrs.field(init=False)
    _kinds: tuple[ReferenceType, ...] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._kinds = self._connection.host.reference_types()
        self.types = tuple(kind.python_type for kind in self._kinds)

    def matches(self, value: Any) -> bool:
        return isinstance(value, self.types)

    def in_arguments(self, value: Any) -> dict[str, Any]:
        reference = dataclasses.replace(self.reference(value), id=secrets.token_hex(_ID_BYTES))
        self.made.append(reference)
        return reference.to_dict()

    def reference(self, value: Any) -> Reference:
        kind = self._kind_of(value)
        if kind is None:
            raise UsageError(f"{value!r} of type {type(value).__name__} is no kinetic.Data")
        handler = self._connection.reference_handler(kind)
        self.data[id(value)] = handler, value
        return handler.reference(value, store_url=self._store_url)

    def local_paths(self) -> tuple[Path, ...]:
        found = (handler.local_path(value) for handler, value in self.data.values())
        return tuple(path for path in found if path is not None)

    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for handler, value in self.data.values() for finding in handler.findings(value))

    def _kind_of(self, value: Any) -> ReferenceType | None:
        return next((kind for kind in self._kinds if isinstance(value, kind.python_type)), None)


def _became_plain(note: str) -> Finding:
    return Finding(code="container_became_plain", severity=Severity.WARNING, message=note)
