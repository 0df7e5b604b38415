"""The built-in plugin: what every submission does unless another plugin has more to say."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kinetic_core.plugin import (
    DriverContext,
    ExcludeRule,
    Finding,
    Package,
    ReferenceHandler,
    ReferenceType,
    RunRequest,
    Serializer,
    hookimpl,
)
from kinetic_core.references.data import Data

_NO_DEFAULT_EXCLUDES: Final = "KINETIC_NO_DEFAULT_EXCLUDES"


@hookimpl
def kinetic_serializers() -> Sequence[Serializer]:
    """Offer the two formats that the runner reads."""
    return (
        Serializer(name="pickle", suffix=".pkl", module="kinetic_core.packaging.pickling"),
        Serializer(name="json", suffix=".json", module="kinetic_core.packaging.jsonformat"),
    )


@hookimpl
def kinetic_reference_types() -> Sequence[ReferenceType]:
    """Let `Data` travel as a reference."""
    return (ReferenceType(name="data", python_type=Data, open=_open_data),)


# Last, so that a site's own plugin can send accelerators elsewhere.
@hookimpl(trylast=True)
def kinetic_select_backend(request: RunRequest) -> str:
    """Choose `pathways` for a TPU slice of more than one host, else `gke`."""
    from kinetic_core.model.accelerator import parse_accelerator

    accelerator = parse_accelerator(request.options.accelerator)
    return "pathways" if accelerator.hosts > 1 else "gke"


@hookimpl
def kinetic_exclude_rules(request: RunRequest) -> Sequence[ExcludeRule]:
    """Keep out what is hardly ever wanted, unless `KINETIC_NO_DEFAULT_EXCLUDES` is exactly `1`."""
    from kinetic_core.packaging.rules import DEFAULT_RULES

    return () if _switched_off(request.surroundings.environ) else DEFAULT_RULES


@hookimpl
def kinetic_inspect_package(package: Package, request: RunRequest) -> Sequence[Finding]:
    """Look at sizes and at names that look like secrets."""
    from kinetic_core.packaging.inspections import inspect

    return inspect(package, request)


def _switched_off(environ: Mapping[str, str]) -> bool:
    return environ.get(_NO_DEFAULT_EXCLUDES) == "1"


def _open_data(context: DriverContext) -> ReferenceHandler:
    from kinetic.references import DataHandler

    return DataHandler(context)
