"""The built-in plugin: what every submission does unless another plugin has more to say."""

from collections.abc import Sequence

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

    return "pathways" if parse_accelerator(request.options.accelerator).is_multi_host else "gke"


@hookimpl
def kinetic_exclude_rules(request: RunRequest) -> Sequence[ExcludeRule]:
    """Keep out what is hardly ever wanted, unless `KINETIC_NO_DEFAULT_EXCLUDES` is exactly `1`."""
    from kinetic_core.packaging.rules import default_rules

    return default_rules(request.surroundings.environ)


@hookimpl
def kinetic_inspect_package(package: Package, request: RunRequest) -> Sequence[Finding]:
    """Look at sizes and at names that look like secrets."""
    from kinetic_core.packaging.inspections import inspect

    return inspect(package, request)


def _open_data(context: DriverContext) -> ReferenceHandler:
    from kinetic.references import DataHandler

    return DataHandler(context)
