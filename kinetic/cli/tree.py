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
class Node:
    """A directory or file of the archive."""

    name: str
    size_bytes: int = 0
    """With all below it, before compression."""
    files: int = 0
    """In it, or 1."""
    children: dict[str, "Node"] = attrs.field(factory=dict)
    is_dir: bool = True
    is_open: bool = False

    def largest_first(self) -> list["Node"]:
        """Return the children, by size and then by name."""
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
    root = build_tree(entries)
    shown = SHOWN_PER_DIRECTORY if fold else len(entries)
    _open_largest(root, shown, SHOWN_LINES if fold else sys.maxsize)
    return list(_lines(root, shown, ""))


def build_tree(entries: Sequence[ArchiveEntry]) -> Node:
    """Return the root of the entries' tree."""
    root = Node("")
    for entry in entries:
        is_dir = entry.name.endswith("/")
        node = root
        parts = entry.name.rstrip("/").split("/")
        for part in parts:
            node.size_bytes += entry.size_bytes
            node.files += not is_dir
            node = node.children.setdefault(part, Node(part))
        node.size_bytes += entry.size_bytes
        node.files += not is_dir
        node.is_dir = is_dir or bool(node.children)
    return root


def _open_largest(root: Node, shown: int, budget: int) -> None:
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


def _lines(node: Node, shown: int, indent: str) -> Iterator[str]:
    members = node.largest_first()
    for child in members[:shown]:
        name = printable(child.name)
        if not child.is_dir:
            yield f"{indent}{name}  {human_size(child.size_bytes)}"
            continue
        yield f"{indent}{name}/  {human_size(child.size_bytes)}, {files_text(child.files)}"
        if child.is_open:
            yield from _lines(child, shown, indent + "  ")
    rest = members[shown:]
    if rest:
        size, files = sum(child.size_bytes for child in rest), sum(child.files for child in rest)
        yield f"{indent}… {len(rest)} more: {human_size(size)}, {files_text(files)}"


def files_text(count: int) -> str:
    """Return a number of files for a person.

    >>> files_text(1), files_text(2000)
    ('1 file', '2,000 files')
    """
    return f"{count:,} file" if count == 1 else f"{count:,} files"
