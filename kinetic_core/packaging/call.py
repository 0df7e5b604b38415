"""A call, ready to be written with every `Data` replaced by its reference, and what its writing gives."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from kinetic_core.model.package import Artifact, PayloadComponent
from kinetic_core.wire import payload
from kinetic_core.wire.plan import Plan


@attrs.frozen(kw_only=True, eq=False)
class Call:
    """What the pod is to call, with all that travels beside it."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = attrs.field(default=(), converter=tuple, repr=False)
    kwargs: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    env_vars: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Captured environment plus `KINETIC_OUTPUT_DIR`."""
    data_ref_ids: tuple[str, ...] = ()
    """Ids of the real references among the arguments."""
    volumes: tuple[Mapping[str, Any], ...] = ()
    """Reference dicts with a `mount_path`."""
    working_dir: str
    """The client's working directory, absolute."""
    plan: Plan
    kinetic_version: str
    """Of this distribution."""
    shared_function: str = ""
    """SHA-256 of the payload that holds what this one calls, see `sharing`; empty where it holds it itself."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class WrittenPayload:
    """The payload on disk, and what is in it."""

    artifact: Artifact
    components: Sequence[PayloadComponent] = ()
    """The heaviest first."""
    modules_by_value: tuple[str, ...] = ()
    """Modules of the project whose code travels in the payload; sorted."""
    distributions: Mapping[str, str] = attrs.field(factory=dict)
    """Versions of the distributions that the payload refers to."""


def surroundings_of(call: Call) -> Iterator[tuple[str, Any]]:
    """Yield the payload's items beside fingerprint, function and arguments: plain values, that JSON holds too."""
    yield payload.WORKING_DIR, call.working_dir
    yield "package_root", call.plan.package_root
    yield "entry_rel", call.plan.entry_rel
    yield "client_cwd_rel", call.plan.client_cwd_rel
    yield "sys_path_rel", list(call.plan.sys_path_rel)
    yield payload.ENV_VARS, dict(call.env_vars)
    yield payload.HAS_DATA_REFS, bool(call.data_ref_ids)
    yield payload.DATA_REF_IDS, list(call.data_ref_ids)
    if call.shared_function:
        yield payload.SHARED_FUNCTION, call.shared_function
    if call.volumes:
        yield payload.VOLUMES, [dict(volume) for volume in call.volumes]


def function_label(call: Call) -> str:
    """Return how messages name the call's function: `the function 'train'`."""
    named = call.function
    while isinstance(named, functools.partial):
        named = named.func
    name = getattr(named, "__name__", None)
    return f"the function {(name if isinstance(name, str) else type(named).__name__)!r}"


def argument_label(index: int) -> str:
    """Return how messages name a positional argument, counted from 0."""
    return f"argument {index}"


def keyword_label(name: str) -> str:
    """Return how messages name a keyword argument."""
    return f"keyword argument {name!r}"


def global_label(module: str | None, name: str) -> str:
    """Return how messages name a module-level variable.

    >>> global_label("trainer.util", "LOCK")
    "global 'LOCK' of module trainer.util"
    """
    return f"global {name!r} of module {module}"
