"""The tree of an archive with sizes, folded where it is long."""

import heapq
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from kinetic.cli.output import human_size
from kinetic_core.model.entry import ArchiveEntry
from kinetic_core.packaging.printable import printable

SHOWN_PER_DIRECTORY: Final = 8
SHOWN_LINES: Final = 40


@attrs.define
class _Node:
    name: str
    size_bytes: int = 0
    files: int = 0
    children: dict[str, "_Node"] = attrs.field(factory=dict)
    is_dir: bool = True
    is_open: bool = False

    def largest_first(self) -> list["_Node"]:
        return sorted(self.children.values(), key=lambda child: (-child.size_bytes, child.name))


def tree_lines(entries: Sequence[ArchiveEntry], *, fold: bool = True) -> list[str]:
    r"""Return one line for each directory and file, the largest first, with sizes before compression.

    Args:
        entries: Of the archive.
        fold: Open only the largest directories, and of each show only its largest members.

    >>> entry = ArchiveEntry(name="pkg/train.py", size_bytes=2048, mode=0o644)
    >>> print("\n".join(tree_lines([entry])))
    pkg/  2.0 KB, 1 file
      train.py  2.0 KB
    """
    root = _build(entries)
    shown = SHOWN_PER_DIRECTORY if fold else len(entries)
    _open_largest(root, shown, SHOWN_LINES if fold else sys.maxsize)
    return list(_lines(root, shown, ""))


def _build(entries: Sequence[ArchiveEntry]) -> _Node:
    root = _Node("")
    for entry in entries:
        is_dir = entry.name.endswith("/")
        node = root
        parts = entry.name.rstrip("/").split("/")
        for part in parts:
            node.size_bytes += entry.size_bytes
            node.files += not is_dir
            node = node.children.setdefault(part, _Node(part))
        node.size_bytes += entry.size_bytes
        node.files += not is_dir
        node.is_dir = is_dir or bool(node.children)
    return root


def _open_largest(root: _Node, shown: int, budget: int) -> None:
    queue = [(0, 0, root)]
    tie = 1
    while queue:
        _, _, node = heapq.heappop(queue)
        members = node.largest_first()[:shown]
        if node is not root and len(members) > budget:
            continue
        node.is_open = True
        budget -= len(members)
        for child in members:
            if child.children:
                heapq.heappush(queue, (-child.size_bytes, tie, child))
                tie += 1


def _lines(node: _Node, shown: int, indent: str) -> Iterator[str]:
    members = node.largest_first()
    for child in members[:shown]:
        name = printable(child.name)
        if not child.is_dir:
            yield f"{indent}{name}  {human_size(child.size_bytes)}"
            continue
        yield f"{indent}{name}/  {human_size(child.size_bytes)}, {_files(child.files)}"
        if child.is_open:
            yield from _lines(child, shown, indent + "  ")
    rest = members[shown:]
    if rest:
        size, files = sum(child.size_bytes for child in rest), sum(child.files for child in rest)
        yield f"{indent}… {len(rest)} more: {human_size(size)}, {_files(files)}"


def _files(count: int) -> str:
    return f"{count:,} file" if count == 1 else f"{count:,} files"
