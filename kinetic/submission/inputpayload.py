"""Payloads of a batch's inputs: each holds the arguments alone; the function was staged once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from kinetic.jobs.batchrecord import BatchRecord
from kinetic.jobs.connection import Connection
from kinetic.submission.inspection import report_findings
from kinetic.submission.prepare import Prepared
from kinetic.submission.references import References
from kinetic_core.errors import SerializationError
from kinetic_core.model.package import Artifact
from kinetic_core.model.request import RunRequest
from kinetic_core.packaging.call import Call
from kinetic_core.packaging.callables import check_call
from kinetic_core.packaging.sharing import sharing_call
from kinetic_core.plugin import Storage
from kinetic_core.wire import names

CARRIES_OBJECTS: Final = "pickle"
"""The format whose payloads hold the function; in any other it travels by its name, and nothing is to be shared."""


@attrs.frozen(kw_only=True)
class Shared:
    """What all inputs have in common."""

    call: Call
    """Of the function, without any input."""
    reference: Mapping[str, Any]
    """To the folder that holds the function's payload."""
    sha256: str
    """Of that payload; empty where none is shared."""


@attrs.frozen(kw_only=True)
class PayloadWriter:
    """Writes the payload of one input after the other."""

    request: RunRequest
    """Of the function; its own arguments come before those of an input."""
    connection: Connection
    store: Storage
    record: BatchRecord
    prepared: Prepared
    shared: Shared

    def write(self, index: int, args: tuple[Any, ...], kwargs: Mapping[str, Any], directory: Path) -> Artifact:
        """Write the payload of an input, and put the content of its `Data` into the store.

        Raises:
            UsageError: The arguments do not fit the signature.
            PackagingError: A `Data` lies where nothing can take its place, or does not exist.
            SerializationError: An argument cannot travel; the message names it and the path to it.
            StorageError: The store failed.
        """
        request = self.request
        check_call(request.function, (*request.args, *args), {**request.kwargs, **kwargs})
        options = attrs.evolve(request.options, volumes={})
        item = attrs.evolve(request, function=_no_function, args=args, kwargs=kwargs, options=options)
        references = References.of(item, self.connection, self.store.url)
        report_findings(references.findings)
        for handler, value in references.data:
            handler.stage(value, self.store)
        base = self.shared.call
        base = attrs.evolve(
            base,
            env_vars={**base.env_vars, names.ENV_OUTPUT_DIR: self.record.output_dir(index)},
            data_ref_ids=(*base.data_ref_ids, *references.ids),
        )
        return self._written(base, references, directory / f"{index}{self.record.suffix}")

    def _written(self, base: Call, references: References, target: Path) -> Artifact:
        args, kwargs = (*base.args, *references.args), {**base.kwargs, **references.kwargs}
        plain = attrs.evolve(base, args=args, kwargs=kwargs)
        if not self.shared.sha256:
            return self._write(plain, target)
        try:
            return self._write(
                sharing_call(base, args, kwargs, reference=self.shared.reference, sha256=self.shared.sha256), target
            )
        except SerializationError:
            # Once more as a plain call, whose arguments have their own names in the message.
            self._write(attrs.evolve(plain, function=_no_function), target)
            raise

    def _write(self, call: Call, target: Path) -> Artifact:
        return attrs.evolve(self.prepared.writing, target=target).write(call).artifact


def _no_function(*_args: Any, **_kwargs: Any) -> None:
    """Stand for the function where the arguments alone matter."""
