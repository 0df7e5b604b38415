"""The built-in plugin: what every submission does unless another plugin has more to say."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from kinetic_core.packaging.call import Call, WrittenPayload
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
from kinetic_core.wire.result import Result


@hookimpl
def kinetic_serializers() -> Sequence[Serializer]:
    """Offer the two formats that the runner reads."""
    return (
        Serializer(name="pickle", suffix=".pkl", write=_write_pickle, read=_read_pickle, seek=_write_pickle),
        Serializer(name="json", suffix=".json", write=_write_json, read=_read_json),
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


def _write_pickle(
    call: Call,
    target: Path,
    *,
    first_party: Mapping[str, ModuleType],
    own_packages: Collection[str],
    references: tuple[type, ...] = (),
) -> WrittenPayload:
    from kinetic_core.packaging.pickling import write_payload

    return write_payload(call, target, first_party=first_party, own_packages=own_packages, references=references)


def _read_pickle(path: Path) -> Result:
    from kinetic_core.packaging.collecting import load_result

    return load_result(path)


def _write_json(
    call: Call, target: Path, *, first_party: Mapping[str, ModuleType], own_packages: Collection[str]
) -> WrittenPayload:
    from kinetic_core.packaging.jsonformat import write_json_payload

    del first_party, own_packages  # a function travels by its name
    return write_json_payload(call, target)


def _read_json(path: Path) -> Result:
    from kinetic_core.packaging.jsonformat import load_json_result

    return load_json_result(path)
