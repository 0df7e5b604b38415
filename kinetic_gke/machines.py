"""What Google Kubernetes Engine sells: GPUs by number, TPU slices by topology, and the machines that carry them.

Sources, of November 2026:
GPUs and their machine types: cloud.google.com/compute/docs/gpus and
cloud.google.com/kubernetes-engine/docs/how-to/autopilot-gpus (node labels, and the numbers that a pod may ask for).
TPU machine types, node labels and topologies: cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus.
Shapes of large slices: cloud.google.com/tpu/docs/v4, cloud.google.com/tpu/docs/v5p and
docs.cloud.google.com/tpu/docs/tpu7x (Ironwood; docs.cloud.google.com/kubernetes-engine/docs/concepts/tpu-ironwood).
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import attrs


@attrs.frozen(kw_only=True)
class Gpu:
    """One model of GPU."""

    label: str
    """Value of the node label `cloud.google.com/gke-accelerator`."""
    machines: Mapping[int, str]
    """Machine types by the number of GPUs in them."""
    arm: bool = False
    """The machine's processors are Arm's: the image must be built for them."""


@attrs.frozen(kw_only=True)
class Slice:
    """TPU chips wired together, in one machine or over several."""

    label: str
    """Value of the node label `cloud.google.com/gke-tpu-accelerator`."""
    topology: tuple[int, ...]
    machine_type: str
    hosts: int

    @property
    def chips(self) -> int:
        """Count the chips of the whole slice."""
        return math.prod(self.topology)

    @property
    def chips_per_host(self) -> int:
        """Count the chips that one pod asks for."""
        return self.chips // self.hosts


@attrs.frozen(kw_only=True)
class Tpu:
    """One generation of TPU."""

    slices: tuple[Slice, ...]
    """Smallest first; no two of the same number of chips."""
    most_chips_of_blocks: int = 0
    """Further slices are put together from blocks of 4x4x4 chips, up to this many; 0 where there are none."""

    def slice_of(self, topology: tuple[int, ...]) -> Slice | None:
        """Return the slice of exactly this topology; `None` where there is none.

        >>> TPUS["v4"].slice_of((4, 4, 12)).hosts, TPUS["v4"].slice_of((4, 4, 6))
        (48, None)
        """
        for known in self.slices:
            if known.topology == topology:
                return known
        if not self._is_of_blocks(topology):
            return None
        whole = self.slices[-1]
        return attrs.evolve(whole, topology=topology, hosts=math.prod(topology) // whole.chips_per_host)

    def _is_of_blocks(self, topology: tuple[int, ...]) -> bool:
        return (
            len(topology) == len(_BLOCK)
            and all(size % edge == 0 for size, edge in zip(topology, _BLOCK, strict=True))
            and list(topology) == sorted(topology)
            and math.prod(topology) <= self.most_chips_of_blocks
        )


_BLOCK: Final = (4, 4, 4)


def _gpu(label: str, machine_type: str, *counts: int, arm: bool = False) -> Gpu:
    """Return a model whose machine types are spelled with the number of GPUs."""
    return Gpu(label=label, machines=MappingProxyType({n: machine_type.format(n) for n in counts}), arm=arm)


def _on(label: str, machines: Mapping[int, str]) -> Gpu:
    return Gpu(label=label, machines=MappingProxyType(machines))


def _slices(label: str, machine_type: str, chips_per_host: int, *topologies: str) -> tuple[Slice, ...]:
    sizes = [tuple(map(int, topology.split("x"))) for topology in topologies]
    return tuple(
        Slice(label=label, topology=size, machine_type=machine_type, hosts=math.prod(size) // chips_per_host)
        for size in sizes
    )


_N1: Final = MappingProxyType({1: "n1-standard-4", 2: "n1-standard-8", 4: "n1-standard-16"})

GPUS: Final[Mapping[str, Gpu]] = MappingProxyType(
    {
        "a100": _on("nvidia-tesla-a100", {**{n: f"a2-highgpu-{n}g" for n in (1, 2, 4, 8)}, 16: "a2-megagpu-16g"}),
        "a100-80gb": _gpu("nvidia-a100-80gb", "a2-ultragpu-{}g", 1, 2, 4, 8),
        "b200": _gpu("nvidia-b200", "a4-highgpu-{}g", 8),
        "gb200": _gpu("nvidia-gb200", "a4x-highgpu-{}g", 4, arm=True),
        "h100": _gpu("nvidia-h100-80gb", "a3-highgpu-{}g", 1, 2, 4, 8),
        "h100-mega": _gpu("nvidia-h100-mega-80gb", "a3-megagpu-{}g", 8),
        "h200": _gpu("nvidia-h200-141gb", "a3-ultragpu-{}g", 8),
        "l4": _on("nvidia-l4", {1: "g2-standard-4", 2: "g2-standard-24", 4: "g2-standard-48", 8: "g2-standard-96"}),
        "p100": _on("nvidia-tesla-p100", _N1),
        "p4": _on("nvidia-tesla-p4", _N1),
        "rtx-pro-6000": _on(
            "nvidia-rtx-pro-6000",
            {1: "g4-standard-48", 2: "g4-standard-96", 4: "g4-standard-192", 8: "g4-standard-384"},
        ),
        "t4": _on("nvidia-tesla-t4", _N1),
        "v100": _on(
            "nvidia-tesla-v100",
            {1: "n1-standard-8", 2: "n1-standard-16", 4: "n1-standard-32", 8: "n1-standard-64"},
        ),
    }
)
"""By the names of the grammar. N1 machines are the smallest usual ones: GPUs are attached to them in any number."""

_CUBES: Final = (
    *("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8"),
    *("4x8x8", "8x8x8", "8x8x16", "8x16x16", "16x16x16"),
)

TPUS: Final[Mapping[str, Tpu]] = MappingProxyType(
    {
        "v5litepod": Tpu(
            slices=(
                *_slices("tpu-v5-lite-podslice", "ct5lp-hightpu-1t", 1, "1x1"),
                *_slices("tpu-v5-lite-podslice", "ct5lp-hightpu-4t", 4, "2x2"),
                *_slices("tpu-v5-lite-podslice", "ct5lp-hightpu-8t", 8, "2x4"),
                *_slices("tpu-v5-lite-podslice", "ct5lp-hightpu-4t", 4, "4x4", "4x8", "8x8", "8x16", "16x16"),
            )
        ),
        "v6e": Tpu(
            slices=(
                *_slices("tpu-v6e-slice", "ct6e-standard-1t", 1, "1x1"),
                *_slices("tpu-v6e-slice", "ct6e-standard-4t", 4, "2x2"),
                *_slices("tpu-v6e-slice", "ct6e-standard-8t", 8, "2x4"),
                *_slices("tpu-v6e-slice", "ct6e-standard-4t", 4, "4x4", "4x8", "8x8", "8x16", "16x16"),
            )
        ),
        "v5p": Tpu(
            slices=_slices("tpu-v5p-slice", "ct5p-hightpu-4t", 4, *_CUBES, "16x16x24"),
            most_chips_of_blocks=6144,
        ),
        "v4": Tpu(slices=_slices("tpu-v4-podslice", "ct4p-hightpu-4t", 4, *_CUBES), most_chips_of_blocks=4096),
        "v3": Tpu(
            slices=(
                *_slices("tpu-v3-device", "ct3-hightpu-4t", 4, "2x2"),
                *_slices("tpu-v3-slice", "ct3p-hightpu-4t", 4, "4x4", "4x8", "8x8", "8x16", "16x16", "16x32", "32x32"),
            )
        ),
        "v7x": Tpu(
            slices=(
                *_slices("tpu7x", "tpu7x-standard-1t", 1, "1x1x1"),
                *_slices("tpu7x", "tpu7x-standard-4t", 4, *_CUBES),
            ),
            most_chips_of_blocks=9216,
        ),
    }
)
"""By the names of the grammar, in the order in which `tpu:4` looks for a slice. Engine sells no v2."""
