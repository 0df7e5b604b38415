"""One pass over the tree: what ships, what a rule keeps out, and what cannot ship."""

import time
from collections import Counter
from collections.abc import Collection, Mapping
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import attrs

from kinetic_core.errors import PackagingError
from kinetic_core.findings import Finding
from kinetic_core.model.blocks import Listing
from kinetic_core.model.collector import collector_paused
from kinetic_core.model.listing import MODE, NAME, SIZE, STATUS, path_of
from kinetic_core.model.package import Exclusion, SkippedEntry
from kinetic_core.packaging.outline import Outline, look_again
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.packaging.secondprocess import WORTH_A_PROCESS_LOOKS, SecondProcess
from kinetic_core.packaging.snapshot import Snapshot
from kinetic_core.packaging.treewalk import TreeWalk


class ScanEntry(NamedTuple):
    """One file or empty directory that ships."""

    name: str
    """In the archive: `/`-separated, relative to the root; directories end in `/`."""
    path: str
    """Where its content lies."""
    size_bytes: int
    mode: int


@attrs.frozen(kw_only=True)
class Scan:
    """What one pass over a tree found; each collection sorted by name."""

    root: Path
    base: str
    """What to put before a name of the listing to have its path."""
    listing: Listing = attrs.field(repr=False)
    """What ships, links followed."""
    outline: Outline | None = attrs.field(default=None, repr=False)
    """By which the next scan may know the names without listing a directory."""
    started_ns: int = 0
    """When the pass began: what changed at that time or later may have changed unseen."""
    skipped: tuple[SkippedEntry, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    excluded_counts: Mapping[str, int] = attrs.field(factory=dict)
    """Exclusions per source; a source whose rules matched nothing counts 0."""
    findings: tuple[Finding, ...] = ()

    @property
    def entries(self) -> tuple[ScanEntry, ...]:
        """Return the listing as records, for whoever looks at a few."""
        return tuple(
            ScanEntry(row[NAME], path_of(self.base, row[NAME]), row[STATUS][SIZE], row[STATUS][MODE])
            for row in self.listing
        )

    @property
    def file_count(self) -> int:
        """Count the files that ship."""
        return sum(1 for row in self.listing if not row[NAME].endswith("/"))

    @property
    def size_bytes(self) -> int:
        """Add up the sizes of the files that ship, before compression."""
        return self.listing.size_bytes

    @property
    def tree_sizes(self) -> Mapping[str, int]:
        """Return the size of each directory that ships, all below it included; the root is `""`."""
        sizes: Counter[str] = Counter({"": 0})
        for row in self.listing:
            is_dir = row[NAME].endswith("/")
            size, name = (0, row[NAME]) if is_dir else (row[STATUS][SIZE], row[NAME].rpartition("/")[0])
            name = name.rstrip("/")
            while name:
                sizes[name] += size
                name = name.rpartition("/")[0]
            sizes[""] += size
        return dict(sorted(sizes.items()))


@collector_paused()
def scan(
    root: Path,
    rules: RuleSet,
    *,
    avoid: Collection[Path] = (),
    earlier: Snapshot | None = None,
    second: SecondProcess | None = None,
) -> Scan:
    """List what ships, in one pass that never enters what a rule excludes.

    Where every directory is as it was for an earlier scan under the same rules, its names are looked at once more,
    and nothing is listed.

    Symbolic links to directories are followed, and each real directory is listed once: where it really is, if that
    lies under the root, wherever the two stand in the walk.

    Args:
        root: The package root, absolute.
        rules: What to keep out; relative to the root.
        avoid: Files and directories that are never listed, such as the temporary directory of this very packaging.
        earlier: Of an earlier packaging of this root.
        second: Started where it is worth it: to look at names that are known, else to pack what is found.

    Raises:
        PackagingError: The root itself cannot be listed.

    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> _ = (root / "train.py").write_text("x = 1")
    >>> [entry.name for entry in scan(root, RuleSet.compile([])).entries]
    ['train.py']
    """
    started_ns = time.time_ns()
    walk = TreeWalk.of(root, rules, avoid=avoid)
    if second is not None and earlier is None:
        walk.at_many = second.start
    again = None if earlier is None else _again(walk, earlier, second)
    listing, outline = _listed(walk, root) if again is None else again
    exclusions = tuple(sorted(walk.exclusions, key=attrgetter("name"))) if again is None else again[1].exclusions
    skipped = sorted(walk.skipped, key=lambda pair: pair[0].name)
    counts = Counter(dict.fromkeys(rules.sources, 0))
    counts.update(exclusion.source for exclusion in exclusions)
    return Scan(
        root=root,
        base=walk.base,
        listing=listing,
        outline=outline,
        started_ns=started_ns,
        skipped=tuple(entry for entry, _ in skipped),
        exclusions=exclusions,
        excluded_counts=dict(counts),
        findings=(*rules.findings, *(finding for _, finding in skipped)),
    )


def _again(walk: TreeWalk, earlier: Snapshot, second: SecondProcess | None) -> tuple[Listing, Outline] | None:
    outline = earlier.outline
    if outline is None or outline.made_under != walk.made_under:
        return None
    is_worth_it = second is not None and len(earlier.listing) >= WORTH_A_PROCESS_LOOKS
    exchange = second.start() if second is not None and is_worth_it else None
    listing = look_again(outline, earlier.listing, walk.base, walk.watched, exchange)
    return None if listing is None else (listing, outline)


def _listed(walk: TreeWalk, root: Path) -> tuple[Listing, Outline | None]:
    try:
        walk.start(root)
    except OSError as error:
        message = f"the package root {root} cannot be listed: {error.strerror}. Nothing can ship from it."
        raise PackagingError(f"{message} Make it readable, or choose another with KINETIC_PACKAGE_ROOT.") from error
    return Listing(walk.ordered()), walk.outline()
