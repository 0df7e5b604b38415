"""The table of what Google Kubernetes Engine has."""

import pytest

from kinetic_core.errors import ConfigError
from kinetic_core.model.accelerator import GPUS as GPU_NAMES
from kinetic_core.model.accelerator import TPUS as TPU_NAMES
from kinetic_core.model.accelerator import parse_accelerator
from kinetic_core.plugin import AcceleratorInfo
from kinetic_gke.accelerators import Hardware, hardware, listing
from kinetic_gke.machines import GPUS, TPUS


def hardware_of(text: str, *, spot: bool = False) -> Hardware:
    return hardware(parse_accelerator(text), spot=spot)


def test_the_table_has_every_gpu_of_the_grammar_and_every_tpu_but_v2() -> None:
    assert set(GPUS) == set(GPU_NAMES)
    assert set(TPUS) == set(TPU_NAMES) - {"v2"}


@pytest.mark.parametrize("info", listing(), ids=lambda info: info.name)
def test_a_listed_name_is_read_as_what_its_row_says(info: AcceleratorInfo) -> None:
    read = parse_accelerator(info.name)
    found = hardware(read)
    assert found.machine_type == info.machine_type
    assert found.hosts == info.hosts
    assert found.topology == info.topology
    assert read.count == info.count
    # Backends are chosen by the grammar's idea of a host, machines by the table's.
    assert read.is_multi_host == (found.hosts > 1)


@pytest.mark.parametrize("name", GPUS)
def test_a_gpus_own_label_is_one_of_its_names(name: str) -> None:
    assert parse_accelerator(GPUS[name].label).name == name


@pytest.mark.parametrize("name", TPUS)
def test_slices_grow_and_no_two_have_the_same_number_of_chips(name: str) -> None:
    chips = [one.chips for one in TPUS[name].slices]
    assert chips == sorted(set(chips))
    # A machine type ends in the number of chips that it has, and a slice fills its machines.
    assert [one.machine_type.rpartition("-")[2] for one in TPUS[name].slices] == [
        f"{one.chips_per_host}t" for one in TPUS[name].slices
    ]


@pytest.mark.parametrize(
    ("text", "label", "per_host", "hosts", "machine"),
    [
        ("l4", "nvidia-l4", 1, 1, "g2-standard-4"),
        ("gpu-a100x16", "nvidia-tesla-a100", 16, 1, "a2-megagpu-16g"),
        ("h200", "nvidia-h200-141gb", 8, 1, "a3-ultragpu-8g"),
        ("gpu:3", "", 3, 1, ""),
        ("tpu-v5e-1", "tpu-v5-lite-podslice", 1, 1, "ct5lp-hightpu-1t"),
        ("v5litepod-8", "tpu-v5-lite-podslice", 8, 1, "ct5lp-hightpu-8t"),
        ("v3", "tpu-v3-device", 4, 1, "ct3-hightpu-4t"),
        ("v3-4x4", "tpu-v3-slice", 4, 4, "ct3p-hightpu-4t"),
        ("tpu7x", "tpu7x", 1, 1, "tpu7x-standard-1t"),
        ("tpu7x-4", "tpu7x", 4, 1, "tpu7x-standard-4t"),
        ("tpu-v7x-2x2x2", "tpu7x", 4, 2, "tpu7x-standard-4t"),
        ("v7x-16x16x36", "tpu7x", 4, 2304, "tpu7x-standard-4t"),
        ("tpu:4", "tpu-v5-lite-podslice", 4, 1, "ct5lp-hightpu-4t"),
        ("tpu:512", "tpu-v5p-slice", 4, 128, "ct5p-hightpu-4t"),
        ("tpu", "tpu-v5-lite-podslice", 1, 1, "ct5lp-hightpu-1t"),
    ],
)
def test_a_name_leads_to_its_machines(text: str, label: str, per_host: int, hosts: int, machine: str) -> None:
    found = hardware_of(text)
    assert (found.label, found.per_host, found.hosts, found.machine_type) == (label, per_host, hosts, machine)


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("a100x3", ["'gpu-a100x3'", "1, 2, 4, 8 or 16"]),
        ("h200x4", ["machines have 8 of them"]),
        ("gpu:17", ["more than 16 GPUs"]),
        ("v2-2x2", ["no node has v2", "v5litepod, v6e, v5p, v4, v3 or v7x"]),
        ("v6e-2", ["1, 4, 8 or 16 chips"]),
        ("v5litepod-3x3", ["v5litepod-2x2, v5litepod-2x4 or v5litepod-4x4"]),
        ("v5p-8x4x4", ["v5p-4x4x8", "ascending multiples of 4, up to 6144 chips"]),
        ("tpu:3", ["1, 4, 8 or 16 chips"]),
    ],
)
def test_what_nobody_sells_is_refused_with_what_comes_near(text: str, hints: list[str]) -> None:
    with pytest.raises(ConfigError, match="kinetic accelerators lists") as refused:
        hardware_of(text)
    assert [hint for hint in hints if hint not in str(refused.value)] == []


def test_spot_comes_from_the_name_or_from_the_option() -> None:
    assert [hardware_of(text, spot=spot).spot for text in ("cpu", "cpu:spot") for spot in (False, True)] == [
        False,
        True,
        True,
        True,
    ]
