"""Accelerators by name: the grammar that every backend reads alike. Machine types are the backends' affair."""

import difflib
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NoReturn

import attrs

from kinetic_core.errors import ConfigError

GPUS: Final = (
    "a100",
    "a100-80gb",
    "b200",
    "gb200",
    "h100",
    "h100-mega",
    "h200",
    "l4",
    "p100",
    "p4",
    "rtx-pro-6000",
    "t4",
    "v100",
)
TPUS: Final[Mapping[str, int]] = MappingProxyType(
    {"v2": 4, "v3": 4, "v4": 4, "v5litepod": 8, "v5p": 4, "v6e": 8, "v7x": 4}
)
"""TPU generations, with the most chips that one host has."""
_ALIASES: Final = MappingProxyType({"tpu7x": "v7x", "v5e": "v5litepod", "v5lite": "v5litepod"})
_LABELS: Final = MappingProxyType(
    {"a100-40gb": "a100", "h100-80gb": "h100", "h100-mega-80gb": "h100-mega", "h200-141gb": "h200"}
)
"""GPUs by the names that their makers and Google Cloud's node labels give them."""
_COUNTED: Final = re.compile(r"(?P<name>.+?)(?:x(?P<times>\d+)|:(?P<colon>\d+))?")
_COUNT: Final = re.compile(r"([-:]\d+(x\d+)*|x\d+)$")
_TPU: Final = re.compile(r"(?P<name>(?:v|tpu)[0-9a-z]+?)(?:-(?:(?P<topology>\d+(?:x\d+){1,2})|(?P<chips>\d+)))?")


@attrs.frozen(kw_only=True)
class Accelerator:
    """What a function asks to run on."""

    kind: Literal["cpu", "gpu", "tpu"]
    name: str = ""
    """Model or generation, such as `a100` or `v5litepod`; empty where any will do."""
    count: int = attrs.field(default=1, validator=attrs.validators.ge(0))
    """GPUs, or TPU chips; 0 for a CPU."""
    topology: tuple[int, ...] = ()
    """Of TPU chips, where one was given: two or three dimensions."""
    spot: bool = False
    """Preemptible capacity."""

    @property
    def is_multi_host(self) -> bool:
        """Tell whether the TPU slice needs more than one host.

        >>> parse_accelerator("v3-2x2").is_multi_host, parse_accelerator("v3-4x4").is_multi_host
        (False, True)
        """
        return self.kind == "tpu" and self.count > TPUS.get(self.name, max(TPUS.values()))


def parse_accelerator(text: str) -> Accelerator:
    """Read the name of an accelerator, in any case.

    Args:
        text: `cpu`, `gpu`, `tpu`, a GPU or TPU by name with or without its kind before it, and how many:
            `l4`, `gpu-a100x4`, `gpu:4`, `tpu-v5litepod-4`, `v3-2x2`; a GPU also by Google Cloud's name for it,
            `nvidia-tesla-t4`; each may end in `:spot`.

    Raises:
        ConfigError: Nobody knows the name; the message lists the nearest.

    >>> parse_accelerator("gpu-a100x4:spot")
    Accelerator(kind='gpu', name='a100', count=4, topology=(), spot=True)
    >>> parse_accelerator("v3-2x2").count
    4
    """
    wanted = text.strip().lower()
    base = wanted.removesuffix(":spot")
    spot = base != wanted
    if base == "cpu":
        return Accelerator(kind="cpu", count=0, spot=spot)
    return _parse_gpu(text, base, spot=spot) or _parse_tpu(text, base, spot=spot) or _unknown(text, base)


def format_accelerator(accelerator: Accelerator) -> str:
    """Return the one spelling of an accelerator that says all of it; `parse_accelerator` reads it back.

    >>> format_accelerator(parse_accelerator("V5E:4:spot")), format_accelerator(parse_accelerator("l4"))
    ('tpu-v5litepod-4:spot', 'gpu-l4x1')
    """
    kind, name, count = accelerator.kind, accelerator.name, accelerator.count
    if kind == "cpu":
        text: str = kind
    elif not name:
        text = f"{kind}:{count}"
    elif kind == "gpu":
        text = f"{kind}-{name}x{count}"
    else:
        text = f"{kind}-{name}-{'x'.join(map(str, accelerator.topology)) or count}"
    return f"{text}:spot" if accelerator.spot else text


def _parse_gpu(text: str, base: str, *, spot: bool) -> Accelerator | None:
    match = _COUNTED.fullmatch(base)
    if match is None:
        return None
    name = match["name"].removeprefix("gpu-")
    if name != "gpu":
        name = _model(name)
        if name not in GPUS:
            return None
    count = _positive(text, match["times"] or match["colon"] or "1")
    return Accelerator(kind="gpu", name="" if name == "gpu" else name, count=count, spot=spot)


def _model(name: str) -> str:
    """Return the model's own name where a maker's or a node label's was given."""
    model = name.removeprefix("nvidia-").removeprefix("tesla-")
    return _LABELS.get(model, model)


def _parse_tpu(text: str, base: str, *, spot: bool) -> Accelerator | None:
    named, _, colon = base.partition(":")
    if named == "tpu":
        return Accelerator(kind="tpu", count=_positive(text, colon or "1"), spot=spot)
    match = _TPU.fullmatch(named.removeprefix("tpu-"))
    if match is None:
        return None
    name = _ALIASES.get(match["name"], match["name"])
    if name not in TPUS:
        return None
    given = match["topology"] or match["chips"]
    if colon and given:
        raise ConfigError(f"accelerator {text!r} says twice how many chips; write {name}-{given} or {name}:{colon}")
    if match["topology"]:
        topology = tuple(_positive(text, size) for size in match["topology"].split("x"))
        return Accelerator(kind="tpu", name=name, count=math.prod(topology), topology=topology, spot=spot)
    return Accelerator(kind="tpu", name=name, count=_positive(text, match["chips"] or colon or "1"), spot=spot)


def _positive(text: str, digits: str) -> int:
    if not digits.isdecimal() or int(digits) < 1:
        raise ConfigError(f"accelerator {text!r}: {digits!r} is no number of 1 or more")
    return int(digits)


def _unknown(text: str, base: str) -> NoReturn:
    tpus = (*TPUS, *_ALIASES)
    known = ["cpu", "gpu", "tpu", *GPUS, *tpus, *(f"gpu-{name}" for name in GPUS), *(f"tpu-{name}" for name in tpus)]
    name = _COUNT.sub("", base)
    near = difflib.get_close_matches(name, known, n=3) or difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = (
        f"did you mean {', '.join(map(repr, near))}?" if near else f"known are {', '.join(known[: -len(GPUS + tpus)])}"
    )
    raise ConfigError(f"unknown accelerator {text!r}; {hint}")
