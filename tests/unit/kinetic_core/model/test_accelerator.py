import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.errors import ConfigError
from kinetic_core.model.accelerator import GPUS, TPUS, Accelerator, format_accelerator, parse_accelerator


@pytest.mark.parametrize(
    ("text", "kind", "name", "count", "topology"),
    [
        ("cpu", "cpu", "", 0, ()),
        ("gpu", "gpu", "", 1, ()),
        ("tpu", "tpu", "", 1, ()),
        ("gpu:4", "gpu", "", 4, ()),
        ("tpu:4", "tpu", "", 4, ()),
        ("l4", "gpu", "l4", 1, ()),
        ("L4", "gpu", "l4", 1, ()),
        (" a100x8 ", "gpu", "a100", 8, ()),
        ("gpu-a100x4", "gpu", "a100", 4, ()),
        ("a100-80gb:2", "gpu", "a100-80gb", 2, ()),
        ("rtx-pro-6000", "gpu", "rtx-pro-6000", 1, ()),
        ("tpu-v5litepod-4", "tpu", "v5litepod", 4, ()),
        ("tpu-v5e-1", "tpu", "v5litepod", 1, ()),
        ("v5lite-8", "tpu", "v5litepod", 8, ()),
        ("v6e:8", "tpu", "v6e", 8, ()),
        ("v3", "tpu", "v3", 1, ()),
        ("v3-2x2", "tpu", "v3", 4, (2, 2)),
        ("tpu-v4-2x2x4", "tpu", "v4", 16, (2, 2, 4)),
    ],
)
def test_a_name_is_read(text: str, kind: str, name: str, count: int, topology: tuple[int, ...]) -> None:
    for spot in (False, True):
        read = parse_accelerator(f"{text.strip()}:spot" if spot else text)
        assert (read.kind, read.name, read.count, read.topology, read.spot) == (kind, name, count, topology, spot)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("gpu-a10", "'gpu-a100'"),
        ("h10", "'h100'"),
        ("tpu-v5x-4", "'tpu-v5e'"),
        ("cpuu", "'cpu'"),
        ("quantum", "known are cpu, gpu, tpu, a100"),
        ("", "known are"),
        (":spot", "known are"),
        ("v9-2x2", "'v2'"),
    ],
)
def test_an_unknown_name_lists_the_nearest(text: str, near: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"unknown accelerator {text!r}; ")) as caught:
        parse_accelerator(text)
    assert near in str(caught.value)


@pytest.mark.parametrize("text", ["gpu:0", "l4x0", "tpu:0", "v3-0", "v3-0x2", "tpu:many", "v3:x"])
def test_a_number_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no number of 1 or more"):
        parse_accelerator(text)


def test_saying_twice_how_many_is_refused() -> None:
    with pytest.raises(ConfigError, match="says twice how many chips"):
        parse_accelerator("v3-8:4")


@pytest.mark.parametrize(
    ("text", "is_multi_host"),
    [
        ("cpu", False),
        ("h100x8", False),
        ("gpu:16", False),
        ("v3-2x2", False),
        ("v3-4x4", True),
        ("v5litepod-8", False),
        ("v5litepod-16", True),
        ("v5p-8", True),
        ("tpu", False),
        ("tpu:16", True),
    ],
)
def test_a_slice_of_more_chips_than_a_host_has_is_multi_host(text: str, *, is_multi_host: bool) -> None:
    assert parse_accelerator(text).is_multi_host is is_multi_host


@given(st.sampled_from([*GPUS, *TPUS]), st.integers(1, 64), st.booleans())
def test_every_known_name_is_read_with_any_number(name: str, count: int, spot: bool) -> None:
    text = f"{name}-{count}" if name in TPUS else f"{name}x{count}"
    kind = "tpu" if name in TPUS else "gpu"
    read = parse_accelerator(f"{kind}-{text}{':spot' if spot else ''}")
    assert (read.kind, read.name, read.count, read.spot) == (kind, name, count, spot)


@given(st.text(max_size=12))
def test_any_other_text_is_refused_as_a_value_error(text: str) -> None:
    try:
        read = parse_accelerator(text)
    except ConfigError as error:
        message = str(error)
    else:
        message = repr(text)
        assert isinstance(read, Accelerator)
    assert repr(text) in message


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("cpu:spot", "cpu:spot"),
        ("GPU:4", "gpu:4"),
        ("tpu", "tpu:1"),
        ("nvidia-tesla-t4", "gpu-t4x1"),
        ("nvidia-h100-mega-80gb:8:spot", "gpu-h100-megax8:spot"),
        ("v5e:8", "tpu-v5litepod-8"),
        ("v3-4x4", "tpu-v3-4x4"),
    ],
)
def test_an_accelerator_is_written_in_one_way(text: str, written: str) -> None:
    assert format_accelerator(parse_accelerator(text)) == written


@pytest.mark.parametrize("text", ["nvidia-gpu", "tesla-gpux2", "nvidia-cpu", "nvidia-"])
def test_a_makers_name_alone_is_no_accelerator(text: str) -> None:
    with pytest.raises(ConfigError, match="unknown accelerator"):
        parse_accelerator(text)
