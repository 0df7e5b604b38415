"""From an accelerator's name to the machines of Google Kubernetes Engine that have it."""

from collections.abc import Iterable
from typing import Final, Literal

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.model.accelerator import Accelerator, format_accelerator
from kinetic_core.plugin.info import AcceleratorInfo
from kinetic_gke.machines import GPUS, TPUS, Slice

BACKEND: Final = "gke"
_MOST_GPUS: Final = max(max(gpu.machines) for gpu in GPUS.values())
_NEAR: Final = 4


@attrs.frozen(kw_only=True)
class Hardware:
    """What the pods of one job ask of their nodes."""

    kind: Literal["cpu", "gpu", "tpu"]
    label: str = ""
    """Which GPU or TPU, as nodes are labelled; empty where any will do."""
    per_host: int = 0
    """GPUs or chips that one pod asks for."""
    hosts: int = 1
    """Pods that run the job together."""
    topology: str = ""
    """Of TPU chips, as nodes are labelled: `4x4`."""
    machine_type: str = ""
    """The usual machine; nodes are not chosen by it."""
    arm: bool = False
    spot: bool = False


def hardware(accelerator: Accelerator, *, spot: bool = False) -> Hardware:
    """Return what a job on this accelerator needs.

    One GPU or chip, where no machine has a single one, is the smallest number that one has: so a bare name always
    means the smallest.

    Args:
        accelerator: As the grammar reads it.
        spot: Preemptible capacity, also where the accelerator's name does not say so.

    Raises:
        ConfigError: Engine has no such machine; the message lists what comes near.

    >>> from kinetic_core.model.accelerator import parse_accelerator
    >>> found = hardware(parse_accelerator("v5e-16"))
    >>> found.label, found.topology, found.hosts, found.per_host
    ('tpu-v5-lite-podslice', '4x4', 4, 4)
    """
    spot = spot or accelerator.spot
    if accelerator.kind == "cpu":
        return Hardware(kind="cpu", spot=spot)
    if accelerator.kind == "gpu":
        return _gpu(accelerator, spot=spot)
    return _tpu(accelerator, spot=spot)


def listing() -> tuple[AcceleratorInfo, ...]:
    """Return every GPU and TPU of the table; larger slices of blocks are not listed one by one."""
    gpus = [
        _info("gpu", f"{name}x{count}" if count > 1 else name, count, machine_type=machine)
        for name, gpu in GPUS.items()
        for count, machine in gpu.machines.items()
    ]
    tpus = [
        _info(
            "tpu",
            f"{name}-{one.chips}",
            one.chips,
            machine_type=one.machine_type,
            topology=_text(one.topology),
            hosts=one.hosts,
        )
        for name, tpu in TPUS.items()
        for one in tpu.slices
    ]
    return (*gpus, *tpus)


def _info(
    kind: Literal["gpu", "tpu"], name: str, count: int, *, machine_type: str, topology: str = "", hosts: int = 1
) -> AcceleratorInfo:
    return AcceleratorInfo(
        backend=BACKEND,
        kind=kind,
        name=name,
        count=count,
        machine_type=machine_type,
        topology=topology,
        hosts=hosts,
    )


def _gpu(accelerator: Accelerator, *, spot: bool) -> Hardware:
    count = accelerator.count
    if not accelerator.name:
        if count > _MOST_GPUS:
            raise _refusal(accelerator, f"no machine has more than {_MOST_GPUS} GPUs")
        return Hardware(kind="gpu", per_host=count, spot=spot)
    gpu = GPUS[accelerator.name]
    if count == 1:
        count = min(gpu.machines)
    if count not in gpu.machines:
        raise _refusal(accelerator, f"machines have {_list(map(str, gpu.machines))} of them")
    return Hardware(
        kind="gpu",
        label=gpu.label,
        per_host=count,
        machine_type=gpu.machines[count],
        arm=gpu.arm,
        spot=spot,
    )


def _tpu(accelerator: Accelerator, *, spot: bool) -> Hardware:
    if accelerator.name and accelerator.name not in TPUS:
        raise _refusal(accelerator, f"no node has {accelerator.name}, only {_list(TPUS)}")
    found = _slice_of_topology(accelerator) if accelerator.topology else _slice_of_chips(accelerator)
    return Hardware(
        kind="tpu",
        label=found.label,
        per_host=found.chips_per_host,
        hosts=found.hosts,
        topology=_text(found.topology),
        machine_type=found.machine_type,
        spot=spot,
    )


def _slice_of_topology(accelerator: Accelerator) -> Slice:
    tpu = TPUS[accelerator.name]
    found = tpu.slice_of(accelerator.topology)
    if found is not None:
        return found
    near = sorted(tpu.slices, key=lambda one: abs(one.chips - accelerator.count))[:_NEAR]
    named = _list(f"{accelerator.name}-{_text(one.topology)}" for one in sorted(near, key=lambda one: one.chips))
    most = tpu.most_chips_of_blocks
    blocks = f", or AxBxC in ascending multiples of 4, up to {most} chips" if most else ""
    raise _refusal(accelerator, f"near it are {named}{blocks}")


def _slice_of_chips(accelerator: Accelerator) -> Slice:
    kinds = (TPUS[accelerator.name],) if accelerator.name else tuple(TPUS.values())
    count = accelerator.count
    if count == 1:
        return kinds[0].slices[0]
    slices = [one for tpu in kinds for one in tpu.slices]
    for one in slices:
        if one.chips == count:
            return one
    nearest = sorted({one.chips for one in slices}, key=lambda chips: abs(chips - count))[:_NEAR]
    raise _refusal(accelerator, f"slices near it have {_list(map(str, sorted(nearest)))} chips")


def _text(topology: tuple[int, ...]) -> str:
    return "x".join(map(str, topology))


def _list(items: Iterable[str]) -> str:
    *most, last = items
    return f"{', '.join(most)} or {last}" if most else last


def _refusal(accelerator: Accelerator, reason: str) -> ConfigError:
    text = format_accelerator(accelerator)
    return ConfigError(
        f"Google Kubernetes Engine has no {text!r}: {reason}; kinetic accelerators lists all that there are"
    )
