"""What tells that no name came or went in a tree: a second look at it then asks for the names that are known."""

import marshal
import os
import stat
from collections.abc import Collection, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

import attrs

from kinetic_core.model.blocks import Block, Listing
from kinetic_core.model.listing import DEVICE, INODE, MODE, MTIME_NS, NAME, STATUS
from kinetic_core.model.looks import looks
from kinetic_core.model.package import Exclusion
from kinetic_core.packaging.exchange import Exchange
from kinetic_core.packaging.packserver import LOOK
from kinetic_core.packaging.relpath import real
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.packaging.tandem import in_tandem

_MARSHAL: Final = 2


@attrs.frozen(kw_only=True)
class Outline:
    """The directories that a scan has listed, and what it kept out.

    A directory's own times change with every name in it that comes or goes. Where those of all directories are as
    they were, and the rules too, a scan would find the names that the last one found.
    """

    made_under: bytes
    """What the scan depended on beside the tree."""
    directories: Listing = attrs.field(repr=False)
    """Without a slash at the end; the root is `""`. Links that are kept out are among them."""
    exclusions: tuple[Exclusion, ...]

    def to_plain(self) -> tuple[Any, ...]:
        """Return what `from_plain` takes."""
        exclusions = tuple((one.name, one.source, one.rule) for one in self.exclusions)
        return self.made_under, tuple(map(tuple, self.directories.blocks)), exclusions

    @classmethod
    def from_plain(cls, plain: tuple[Any, ...]) -> "Outline":
        """Return the outline that `to_plain` was asked of."""
        made_under, blocks, exclusions = plain
        return cls(
            made_under=made_under,
            directories=Listing.of_blocks(Block(*block) for block in blocks),
            exclusions=tuple(Exclusion(name=name, source=source, rule=rule) for name, source, rule in exclusions),
        )

    @property
    def is_telling(self) -> bool:
        """Whether directories have times here: the root of a FAT file system has none."""
        return all(row[MTIME_NS] > 0 for row in self.directories.rows)


def conditions(root: Path, rules: RuleSet, *, data: Mapping[Any, tuple[str, Any]], avoid: Collection[Path]) -> bytes:
    """Return what a scan depends on beside the tree.

    Args:
        root: Absolute.
        rules: In order.
        data: Where those for `Data` lead to, as the first of each value.
        avoid: What is never listed; only what lies in the tree matters, and files, which a link may lead to.
    """
    plain = tuple((rule.pattern, rule.kind, rule.directories_only, rule.source) for rule in rules.rules)
    base = os.path.join(real(root), "")
    avoided = sorted(path for path in map(real, avoid) if f"{path}/".startswith(base) or os.path.isfile(path))
    return marshal.dumps((plain, tuple(sorted(path for path, _ in data.values())), tuple(avoided)), _MARSHAL)


def look_again(
    outline: Outline, listing: Listing, base: str, watched: Collection[tuple[int, int]], exchange: Exchange | None
) -> Listing | None:
    """Look at each name of a listing once more; nothing but the numbers is made, and no row.

    Args:
        outline: Of the scan that found the listing; made under what holds now, too.
        listing: What an earlier scan found.
        base: The path of the root, with its slash.
        watched: Devices and inodes that ship under no name.
        exchange: With a process that may look, too.

    Returns:
        The listing as it is now, with the very blocks that are unchanged; `None` where only a scan can tell.
    """
    directories = outline.directories.blocks
    told = in_tandem(chain(directories, listing.blocks), _Looking(os.fsencode(base)), exchange)
    if any(now != block.looks for block, now in zip(directories, told, strict=False)):
        return None
    return listing.seen_again(told, lambda block: _may_ship(block, watched))


class _Looking:
    """How blocks are looked at, here or in the process beside."""

    def __init__(self, base: bytes) -> None:
        self._base = base

    def here(self, block: Block) -> bytes:
        return looks(self._base, block.names)

    def question(self, block: Block) -> Any:
        return LOOK, self._base, block.names

    def answered(self, block: Block, answer: Any) -> bytes:
        if not isinstance(answer, bytes) or len(answer) not in {0, len(block.looks)}:
            raise TypeError(answer)
        return answer


def _may_ship(block: Block, watched: Collection[tuple[int, int]]) -> bool:
    for row in block.rows:
        mode, is_dir = row[STATUS][MODE], row[NAME].endswith("/")
        if not (stat.S_ISDIR(mode) if is_dir else stat.S_ISREG(mode)):
            return False
        if (row[STATUS][DEVICE], row[STATUS][INODE]) in watched:
            return False
    return True
