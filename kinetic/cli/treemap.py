"""A treemap: boxes within boxes, each as large as the files in it."""

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from kinetic.cli.tree import Node

MAX_BOXES: Final = 5_000
_MARGIN: Final = 2.0
_TITLE: Final = 16.0
_SMALLEST: Final = 3.0


@attrs.frozen(kw_only=True)
class Box:
    """Where a directory or file is drawn, in units of the drawing."""

    path: str
    """Relative to the root; the one of a directory ends in `/`, and that of several small ones together is theirs."""
    size_bytes: int
    files: int
    depth: int
    """1 for what lies in the root."""
    x: float
    y: float
    width: float
    height: float


@attrs.frozen
class _Area:
    x: float
    y: float
    width: float
    height: float

    def inside(self) -> "_Area":
        """Return what is left within margins and a title."""
        return _Area(
            self.x + _MARGIN, self.y + _TITLE, self.width - 2 * _MARGIN, max(self.height - _TITLE - _MARGIN, 0.0)
        )


def treemap(root: Node, width: float, height: float) -> list[Box]:
    """Lay out a tree; a box stands before those within it.

    What has no bytes, or would be too small to see, is not drawn: its directory's box shows that it is there.

    Args:
        root: Of the tree.
        width: Of the drawing, in its units.
        height: Of the drawing, in its units.

    >>> [box.path for box in treemap(Node("", 4, 1, {"a.py": Node("a.py", 4, 1, is_dir=False)}), 100, 100)]
    ['a.py']
    """
    boxes: list[Box] = []
    waiting = [(root, "", 0, _Area(0.0, 0.0, width, height))]
    # The largest directories first, so that a bound on boxes costs the least.
    while waiting and len(boxes) < MAX_BOXES:
        waiting.sort(key=lambda item: item[3].width * item[3].height)
        node, path, depth, area = waiting.pop()
        for child, place in _placed(node, area):
            name = f"{path}{child.name}{'/' if child.is_dir else ''}"
            boxes.append(
                Box(
                    path=name, size_bytes=child.size_bytes, files=child.files, depth=depth + 1,
                    x=place.x, y=place.y, width=place.width, height=place.height,
                )
            )  # fmt: skip
            if child.is_dir:
                waiting.append((child, name, depth + 1, place.inside()))
    return boxes[:MAX_BOXES]


def _placed(node: Node, area: _Area) -> Iterator[tuple[Node, _Area]]:
    if not node.size_bytes:
        return
    scale = area.width * area.height / node.size_bytes
    members = [child for child in node.largest_first() if child.size_bytes * scale >= _SMALLEST**2]
    while members:
        row = _row(members, min(area.width, area.height), scale)
        placed, area = _laid(row, area, scale)
        yield from zip(row, placed, strict=True)
        members = members[len(row) :]


def _row(members: Sequence[Node], side: float, scale: float) -> Sequence[Node]:
    """Return as many of the members as make boxes nearest to squares when laid along that side."""
    count, best = 1, _worst(members[:1], side, scale)
    while count < len(members):
        worse = _worst(members[: count + 1], side, scale)
        if worse > best:
            break
        count, best = count + 1, worse
    return members[:count]


def _worst(row: Sequence[Node], side: float, scale: float) -> float:
    total = sum(child.size_bytes for child in row) * scale
    largest, smallest = row[0].size_bytes * scale, row[-1].size_bytes * scale
    return max(side**2 * largest / total**2, total**2 / (side**2 * smallest))


def _laid(row: Sequence[Node], area: _Area, scale: float) -> tuple[list[_Area], _Area]:
    total = sum(child.size_bytes for child in row) * scale
    upright = area.width >= area.height
    side = area.height if upright else area.width
    thickness, offset, placed = total / side, 0.0, []
    for child in row:
        length = child.size_bytes * scale / thickness
        placed.append(
            _Area(area.x, area.y + offset, thickness, length)
            if upright
            else _Area(area.x + offset, area.y, length, thickness)
        )
        offset += length
    if upright:
        return placed, _Area(area.x + thickness, area.y, max(area.width - thickness, 0.0), area.height)
    return placed, _Area(area.x, area.y + thickness, area.width, max(area.height - thickness, 0.0))
