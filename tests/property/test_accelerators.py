"""Every spelling of an accelerator, from text to record to machines and back."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.errors import ConfigError
from kinetic_core.model.accelerator import GPUS as GPU_NAMES
from kinetic_core.model.accelerator import TPUS as TPU_NAMES
from kinetic_core.model.accelerator import Accelerator, format_accelerator, parse_accelerator
from kinetic_core.plugin import AcceleratorInfo
from kinetic_gke.accelerators import Hardware, hardware, listing
from kinetic_gke.machines import GPUS, TPUS

ALIASES = {"tpu7x": "v7x", "v5e": "v5litepod", "v5lite": "v5litepod"}
SIZES = st.lists(st.integers(1, 64), min_size=2, max_size=3).map(tuple)
ACCELERATORS = st.one_of(
    st.builds(Accelerator, kind=st.just("cpu"), count=st.just(0), spot=st.booleans()),
    st.builds(
        Accelerator,
        kind=st.just("gpu"),
        name=st.sampled_from(["", *GPU_NAMES]),
        count=st.integers(1, 32),
        spot=st.booleans(),
    ),
    st.builds(
        Accelerator,
        kind=st.just("tpu"),
        name=st.sampled_from(["", *TPU_NAMES]),
        count=st.integers(1, 8192),
        spot=st.booleans(),
    ),
    st.builds(
        lambda name, topology, spot: Accelerator(
            kind="tpu", name=name, count=math.prod(topology), topology=topology, spot=spot
        ),
        st.sampled_from(list(TPU_NAMES)),
        SIZES,
        st.booleans(),
    ),
)


def spellings(name: str, count: int, topology: str) -> Iterator[str]:
    """Yield every way to write one row of the table."""
    if name in GPU_NAMES:
        for spelled in (name, GPUS[name].label):
            numbers = [f"x{count}", f":{count}", *([""] if count == min(GPUS[name].machines) else [])]
            for prefix in ("", "gpu-"):
                yield from (f"{prefix}{spelled}{number}" for number in numbers)
        return
    smallest = TPUS[name].slices[0].chips
    numbers = [f"-{count}", f":{count}", f"-{topology}", *([""] if count == smallest else [])]
    for spelled in (name, *(alias for alias, meant in ALIASES.items() if meant == name)):
        for prefix in ("", "tpu-"):
            yield from (f"{prefix}{spelled}{number}" for number in numbers)


ROWS = [
    (info, spelling)
    for info in listing()
    for spelling in spellings(parse_accelerator(info.name).name, info.count, info.topology)
]


@given(ACCELERATORS)
def test_what_is_written_is_read_back(accelerator: Accelerator) -> None:
    assert parse_accelerator(format_accelerator(accelerator)) == accelerator


@given(st.sampled_from(ROWS), st.booleans(), st.booleans(), st.sampled_from(["", " ", "\t"]))
def test_every_spelling_of_a_row_leads_to_its_machines(
    row: tuple[AcceleratorInfo, str], upper: bool, spot: bool, blank: str
) -> None:
    info, spelling = row
    text = f"{blank}{spelling.upper() if upper else spelling}{':spot' if spot else ''}{blank}"
    found = hardware(parse_accelerator(text))
    wanted = hardware(parse_accelerator(info.name), spot=spot)
    assert found == wanted
    assert found.spot is spot


def found_or_refused(accelerator: Accelerator) -> Hardware | None:
    """Return the machines, or nothing where the refusal names what was asked for."""
    try:
        return hardware(accelerator)
    except ConfigError as refused:
        if repr(format_accelerator(accelerator)) not in str(refused):
            raise
        return None


@given(st.one_of(st.sampled_from([parse_accelerator(spelling) for _, spelling in ROWS]), ACCELERATORS))
def test_hosts_times_chips_is_what_was_asked_for_and_what_the_topology_has(accelerator: Accelerator) -> None:
    found = found_or_refused(accelerator)
    if found is None:
        return
    assert found.spot is accelerator.spot
    assert found.hosts >= 1
    if accelerator.kind == "cpu":
        assert (found.label, found.per_host) == ("", 0)
        return
    in_all = found.hosts * found.per_host
    assert accelerator.count in {in_all, 1}
    if found.topology:
        assert in_all == math.prod(map(int, found.topology.split("x")))
    if accelerator.topology:
        assert found.topology == "x".join(map(str, accelerator.topology))


@given(
    st.sampled_from(["v4", "v5p", "v7x"]),
    st.lists(st.integers(1, 24).map(lambda size: 4 * size), min_size=3, max_size=3).map(sorted),
)
def test_blocks_of_four_make_a_slice_up_to_the_size_of_a_pod(name: str, sizes: list[int]) -> None:
    text = f"{name}-{'x'.join(map(str, sizes))}"
    if math.prod(sizes) <= TPUS[name].most_chips_of_blocks:
        found = hardware(parse_accelerator(text))
        assert (found.hosts, found.per_host) == (math.prod(sizes) // 4, 4)
    else:
        with pytest.raises(ConfigError, match="ascending multiples of 4"):
            hardware(parse_accelerator(text))
