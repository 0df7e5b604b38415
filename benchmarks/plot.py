"""Plots as SVG, with nothing but the standard library."""

import math
from collections.abc import Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

_COLOURS: Final = ("#1f5fa8", "#c2571a", "#5b5b5b", "#2e7d4f", "#7a4a9e")
_WIDTH: Final = 760
_BAR: Final = 22
_LEFT: Final = 190
_RIGHT: Final = 80
_TOP: Final = 44
_HEIGHT: Final = 400
_BOTTOM: Final = 50
_OVERHANG: Final = 1.25


def bars(title: str, values: Mapping[str, float]) -> str:
    """Draw one bar a name, shortest first, on a logarithmic scale; the first name given is ours.

    Args:
        title: Above the plot.
        values: Ratios; all above 0.
    """
    ours = next(iter(values))
    low, high = min(values.values()) / 2, max(values.values())
    span = _WIDTH - _LEFT - _RIGHT
    parts = []
    for place, (name, value) in enumerate(sorted(values.items(), key=lambda item: item[1])):
        top = _TOP + place * (_BAR + 8)
        length = span * math.log(value / low) / math.log(high / low)
        colour = _COLOURS[0] if name == ours else _COLOURS[2]
        parts += [
            _text(_LEFT - 8, top + 16, name, anchor="end"),
            f'<rect x="{_LEFT}" y="{top}" width="{length:.0f}" height="{_BAR}" fill="{colour}"/>',
            _text(_LEFT + length + 6, top + 16, f"{value:.3g} ×"),
        ]
    return _drawing(title, parts, _TOP + len(values) * (_BAR + 8) + 16)


def lines(title: str, across: str, up: str, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Draw one line a name through its points, both axes logarithmic.

    Args:
        title: Above the plot.
        across: What the points' first values are.
        up: What their second values are.
        series: Points by name; all above 0.
    """
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    x_low, x_high, y_low, y_high = min(xs), max(xs) * _OVERHANG, min(ys) / _OVERHANG, max(ys) * _OVERHANG
    left, right, bottom = 80, _WIDTH - 150, _HEIGHT - _BOTTOM

    def at(x: float, y: float) -> tuple[float, float]:
        along = (right - left) * math.log(x / x_low) / math.log(x_high / x_low)
        above = (bottom - _TOP) * math.log(y / y_low) / math.log(y_high / y_low)
        return left + along, bottom - above

    parts = [f'<path d="M{left} {_TOP}V{bottom}H{right}" fill="none" stroke="#888"/>']
    for power in _powers(x_low, x_high):
        x, _ = at(10.0**power, y_low)
        parts.append(_text(x, bottom + 18, f"{10**power:,}", anchor="middle"))
    for power in _powers(y_low, y_high):
        _, y = at(x_low, 10.0**power)
        parts.append(_text(left - 8, y + 4, f"{10.0**power:g}", anchor="end"))
        parts.append(f'<path d="M{left} {y:.0f}H{right}" stroke="#ddd"/>')
    for colour, (name, points) in zip(_COLOURS, series.items(), strict=False):
        drawn = [at(x, y) for x, y in points]
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in drawn)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{colour}"/>' for x, y in drawn]
        parts.append(_text(drawn[-1][0] + 8, drawn[-1][1] + 4, name, colour=colour))
    parts += [_text((left + right) / 2, _HEIGHT - 10, across, anchor="middle"), _text(10, _TOP - 8, up)]
    return _drawing(title, parts, _HEIGHT)


def _powers(low: float, high: float) -> range:
    return range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high)) + 1)


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _drawing(title: str, parts: Sequence[str], height: int) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="13">'
    )
    heading = f'<text x="10" y="22" font-size="15" fill="#222">{escape(title)}</text>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', heading, *parts, "</svg>", ""])
