"""One pass over the tree: what ships, what a rule keeps out, and what cannot ship."""

import heapq
import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Mapping
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Final, NamedTuple

import attrs

from kinetic_core.errors import PackagingError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.package import Exclusion, SkippedEntry
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.printable import printable
from kinetic_core.packaging.rules import DATA, RuleSet
from kinetic_core.wire.names import PLAN_PATH

_DRIVE: Final = re.compile(r"[A-Za-z]:")
_PLAN_DIRECTORY: Final = PLAN_PATH.partition("/")[0]

Identity = tuple[int, int]


class ScanEntry(NamedTuple):
    """One file or empty directory that ships."""

    name: str
    """In the archive: `/`-separated, relative to the root; directories end in `/`."""
    path: str
    """Where its content lies."""
    stat: os.stat_result
    """Of the file itself, links followed, when it was listed."""


@attrs.frozen(kw_only=True)
class Scan:
    """What one pass over a tree found; each collection sorted by name."""

    root: Path
    entries: tuple[ScanEntry, ...] = attrs.field(repr=False)
    skipped: tuple[SkippedEntry, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    excluded_counts: Mapping[str, int] = attrs.field(factory=dict)
    """Exclusions per source; a source whose rules matched nothing counts 0."""
    findings: tuple[Finding, ...] = ()

    @property
    def file_count(self) -> int:
        """Count the files that ship."""
        return sum(1 for entry in self.entries if not entry.name.endswith("/"))

    @property
    def size_bytes(self) -> int:
        """Add up the sizes of the files that ship, before compression."""
        return sum(entry.stat.st_size for entry in self.entries if not entry.name.endswith("/"))

    @property
    def tree_sizes(self) -> Mapping[str, int]:
        """Return the size of each directory that ships, all below it included; the root is `""`."""
        sizes: Counter[str] = Counter({"": 0})
        for entry in self.entries:
            is_dir = entry.name.endswith("/")
            size, name = (0, entry.name) if is_dir else (entry.stat.st_size, entry.name.rpartition("/")[0])
            name = name.rstrip("/")
            while name:
                sizes[name] += size
                name = name.rpartition("/")[0]
            sizes[""] += size
        return dict(sorted(sizes.items()))


def scan(root: Path, rules: RuleSet, *, avoid: Collection[Path] = ()) -> Scan:
    """List what ships, in one pass that never enters what a rule excludes.

    Symbolic links to directories are followed, and each real directory is listed once: where it really is, if that
    lies under the root, wherever the two stand in the walk.

    Args:
        root: The package root, absolute.
        rules: What to keep out; relative to the root.
        avoid: Files and directories that are never listed, such as the temporary directory of this very packaging.

    Raises:
        PackagingError: The root itself cannot be listed.

    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> _ = (root / "train.py").write_text("x = 1")
    >>> [entry.name for entry in scan(root, RuleSet.compile([])).entries]
    ['train.py']
    """
    walk = _Walk(rules=rules, avoided=_identities(avoid), data=_data_identities(root, rules))
    try:
        walk.start(root)
    except OSError as error:
        message = f"the package root {root} cannot be listed: {error.strerror}. Nothing can ship from it."
        raise PackagingError(f"{message} Make it readable, or choose another with KINETIC_PACKAGE_ROOT.") from error
    return walk.result(root)


def _identities(paths: Collection[Path]) -> frozenset[Identity]:
    found = set()
    for path in paths:
        try:
            found.add(_identity(path.stat()))
        except OSError:
            continue
    return frozenset(found)


def _data_identities(root: Path, rules: RuleSet) -> dict[Identity, tuple[str, ExcludeRule]]:
    """Find the places that `Data` paths lead to, so that no link under another name ships them."""
    found: dict[Identity, tuple[str, ExcludeRule]] = {}
    for rule in rules.rules:
        if rule.source == DATA and rule.kind == "path":
            path = os.path.realpath(root / rule.pattern)
            try:
                found.setdefault(_identity(Path(path).stat()), (path, rule))
            except OSError:
                continue
    return found


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


@attrs.define(kw_only=True)
class _Walk:
    rules: RuleSet
    avoided: frozenset[Identity]
    data: Mapping[Identity, tuple[str, ExcludeRule]]
    entries: list[ScanEntry] = attrs.field(factory=list)
    directories: dict[str, tuple[str, os.stat_result]] = attrs.field(factory=dict)
    """Each directory entered, by its archive name without the `/`."""
    filled: set[str] = attrs.field(factory=set)
    """Names of the directories that hold something that ships."""
    skipped: list[tuple[SkippedEntry, Finding]] = attrs.field(factory=list)
    exclusions: list[Exclusion] = attrs.field(factory=list)
    archived_as: dict[Identity, str] = attrs.field(factory=dict)
    parents: frozenset[Identity] = frozenset()
    links: list[tuple[int, int, str, str, os.stat_result]] = attrs.field(factory=list)
    """Links to directories, to be followed when every real directory is known; a heap."""
    _todo: list[tuple[str, str, os.stat_result]] = attrs.field(factory=list)

    def start(self, root: Path) -> None:
        real = Path(os.path.realpath(root))
        self.parents = _identities([real, *real.parents, *root.parents])
        top = os.fspath(root)
        self._list("", top, root.stat())
        self._descend()
        while self.links:
            _, _, rel, path, status = heapq.heappop(self.links)
            self._enter(rel, path, status)
            self._descend()

    def _descend(self) -> None:
        while self._todo:
            rel, path, status = self._todo.pop()
            self._enter(rel, path, status)

    def _enter(self, rel: str, path: str, status: os.stat_result) -> None:
        identity = _identity(status)
        if identity in self.parents:
            self._skip(f"{rel}/", "cycle", "it leads back to the package root or to a directory above it")
        elif (known := self.archived_as.get(identity)) is not None:
            self._skip(f"{rel}/", "directory_repeated", f"the same directory ships already as '{printable(known)}/'")
        else:
            try:
                self._list(rel, path, status)
            except OSError as error:
                self._skip(f"{rel}/", "unreadable", f"it cannot be listed: {error.strerror}")

    def _list(self, rel: str, path: str, status: os.stat_result) -> None:
        with os.scandir(path) as listing:
            found = sorted(listing, key=attrgetter("name"))
        self.archived_as[_identity(status)] = rel
        if rel:
            self.directories[rel] = (path, status)
            self.filled.add(rel.rpartition("/")[0])
        prefix = f"{rel}/" if rel else ""
        for entry in found:
            self._look(prefix + entry.name, entry)

    def _look(self, rel: str, entry: "os.DirEntry[str]") -> None:
        is_link, is_dir = entry.is_symlink(), _is_directory(entry)
        shown = f"{rel}/" if is_dir else rel
        if (rule := self.rules.match(rel, entry.name, is_dir)) is not None:
            self._exclude(shown, rule)
        elif rel == PLAN_PATH:
            return
        elif rel == _PLAN_DIRECTORY and not is_dir:
            self._skip(rel, "name_reserved", f"the archive keeps the packaging plan in {PLAN_PATH}")
        elif (unfit := _unfit_name(rel, entry.name)) is not None:
            self._skip(shown, *unfit)
        else:
            try:
                status = entry.stat(follow_symlinks=is_link)
            except OSError as error:
                code, what = ("broken_link", "the link cannot be followed") if is_link else ("unreadable", "no access")
                self._skip(shown, code, f"{what}: {error.strerror}")
            else:
                self._take(rel, entry.path, status, is_link=is_link)

    def _take(self, rel: str, path: str, status: os.stat_result, *, is_link: bool) -> None:
        identity, is_dir = _identity(status), stat.S_ISDIR(status.st_mode)
        if identity in self.avoided:
            return
        if (hit := self.data.get(identity)) is not None and os.path.realpath(path) == hit[0]:
            self._exclude(f"{rel}/" if is_dir else rel, hit[1])
        elif is_dir and is_link:
            # A link's target may hold that of another: the wider one goes first, so that what it holds counts as real.
            depth = os.path.realpath(path).count(os.sep)
            heapq.heappush(self.links, (depth, rel.count("/"), rel, path, status))
        elif is_dir:
            self._todo.append((rel, path, status))
        elif stat.S_ISREG(status.st_mode):
            self.entries.append(ScanEntry(rel, path, status))
            self.filled.add(rel.rpartition("/")[0])
        else:
            self._skip(rel, "special_file", f"it is {_kind(status.st_mode)}, not a file")

    def _exclude(self, shown: str, rule: ExcludeRule) -> None:
        # As it stands in an ignore file.
        pattern = f"{rule.pattern}/" if rule.kind == "glob" and rule.directories_only else rule.pattern
        self.exclusions.append(Exclusion(name=printable(shown), source=rule.source, rule=pattern))

    def _skip(self, rel: str, code: str, reason: str) -> None:
        self.skipped.append(skip(rel, code, reason))

    def result(self, root: Path) -> Scan:
        empty = [
            ScanEntry(f"{rel}/", path, status)
            for rel, (path, status) in self.directories.items()
            if rel not in self.filled and rel != _PLAN_DIRECTORY
        ]
        skipped = sorted(self.skipped, key=lambda pair: pair[0].name)
        counts = Counter(dict.fromkeys(self.rules.sources, 0))
        counts.update(exclusion.source for exclusion in self.exclusions)
        return Scan(
            root=root,
            entries=tuple(sorted(self.entries + empty, key=itemgetter(0))),
            skipped=tuple(entry for entry, _ in skipped),
            exclusions=tuple(sorted(self.exclusions, key=lambda exclusion: exclusion.name)),
            excluded_counts=dict(counts),
            findings=(*self.rules.findings, *(finding for _, finding in skipped)),
        )


def skip(name: str, code: str, reason: str) -> tuple[SkippedEntry, Finding]:
    """Record something that cannot ship, with the warning about it; both name it printably.

    >>> skip("pipe", "special_file", "it is a FIFO, not a file")[1].message
    "skipped 'pipe': it is a FIFO, not a file"
    """
    shown = printable(name)
    finding = Finding(
        code=code,
        severity=Severity.WARNING,
        message=f"skipped '{shown}': {reason}",
        remedy="The job runs without it; exclude it in .kineticignore to silence this.",
    )
    return SkippedEntry(name=shown, reason=reason), finding


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _unfit_name(rel: str, name: str) -> tuple[str, str] | None:
    """Return code and reason when no archive can hold a name, or when the runner would refuse the archive for it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "name_undecodable", "its name is not valid UTF-8"
    climbs = "\\" in name and (rel[0] == "\\" or ".." in name.split("\\"))
    if climbs or _DRIVE.match(rel):
        return "name_unsafe", "where a backslash or a drive letter has a meaning, its name leads out of the workspace"
    return None


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
