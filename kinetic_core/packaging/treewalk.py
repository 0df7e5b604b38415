"""The walk over a tree: every directory once, rules asked a directory at a time, nothing asked of the kernel twice."""

import heapq
import os
import re
import stat
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.findings import Finding
from kinetic_core.model.blocks import Listing
from kinetic_core.model.listing import DEVICE, INODE, NAME, STATUS, Listed, listed, path_of, utf8_name
from kinetic_core.model.package import Exclusion, SkippedEntry
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.outline import Outline, conditions
from kinetic_core.packaging.printable import printable
from kinetic_core.packaging.relpath import real
from kinetic_core.packaging.rules import DATA, RuleSet
from kinetic_core.packaging.secondprocess import WORTH_A_PROCESS_FILES
from kinetic_core.packaging.skips import skip
from kinetic_core.wire.names import PLAN_PATH

_DRIVE: Final = re.compile(r"[A-Za-z]:")
_PLAN_DIRECTORY: Final = PLAN_PATH.partition("/")[0]
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

Identity = tuple[int, int]


@attrs.define(kw_only=True, eq=False, repr=False)
class TreeWalk:
    """One pass over a tree, and what it has found so far."""

    base: str
    """What to put before a name to have its path."""
    rules: RuleSet
    at_many: Callable[[], object] | None = None
    """Called once, when so many files were found that a second process is worth it."""
    skipped: list[tuple[SkippedEntry, Finding]] = attrs.field(factory=list, init=False)
    exclusions: list[Exclusion] = attrs.field(factory=list, init=False)
    _found: int = attrs.field(default=0, init=False)
    _avoided: frozenset[Identity]
    _data: Mapping[Identity, tuple[str, ExcludeRule]]
    made_under: bytes
    """What the walk depends on beside the tree."""
    _watches_files: bool
    """Whether a file is avoided or a `Data`, not only directories."""
    _files: dict[str, list[Listed]] = attrs.field(factory=dict, init=False)
    """What ships of each directory, sorted."""
    _directories: dict[str, os.stat_result] = attrs.field(factory=dict, init=False)
    """Each directory entered, by its archive name without the `/`."""
    _children: dict[str, list[str]] = attrs.field(factory=dict, init=False)
    """Those of each directory, with the `/`."""
    _archived_as: dict[Identity, str] = attrs.field(factory=dict, init=False)
    _parents: frozenset[Identity] = attrs.field(default=frozenset(), init=False)
    _links: list[tuple[int, int, str, os.stat_result]] = attrs.field(factory=list, init=False)
    """Links to directories, to be followed when every real directory is known; a heap."""
    _leads_out: bool = attrs.field(default=False, init=False)
    """Whether there were such links, or some to what is avoided, which another walk may follow, or to nothing."""
    _kept_links: dict[str, os.stat_result] = attrs.field(factory=dict, init=False)
    """Links that are kept out: they may lead to another thing the next time, with no sign in the tree."""
    _todo: list[tuple[str, os.stat_result]] = attrs.field(factory=list, init=False)

    @classmethod
    def of(cls, root: Path, rules: RuleSet, *, avoid: Collection[Path]) -> "TreeWalk":
        """Make ready to walk a tree.

        Args:
            root: Absolute.
            rules: What to keep out.
            avoid: Files and directories that are never listed.
        """
        data = _data_identities(root, rules)
        return cls(
            base=os.path.join(root, ""),
            rules=rules,
            avoided=_identities(avoid),
            data=data,
            watches_files=any(map(os.path.isfile, avoid)) or any(os.path.isfile(path) for path, _ in data.values()),
            made_under=conditions(root, rules, data=data, avoid=avoid),
        )

    @property
    def watched(self) -> frozenset[Identity]:
        """Return what ships under no name."""
        return self._avoided | self._data.keys()

    def outline(self) -> Outline | None:
        """Return what tells that the next scan will find these names; nothing where more would have to be told."""
        if self.skipped or self._leads_out:
            return None
        outline = Outline(
            made_under=self.made_under,
            directories=Listing(
                listed(rel, status) for rel, status in chain(self._directories.items(), self._kept_links.items())
            ),
            exclusions=tuple(sorted(self.exclusions, key=attrgetter("name"))),
        )
        return outline if outline.is_telling else None

    def ordered(self) -> list[Listed]:
        """Return what ships, sorted by name: files, and directories that hold nothing.

        Each directory is sorted already, so putting them together costs a look a directory, not one a file.
        """
        listing: list[Listed] = []
        pieces: list[str | list[Listed]] = [""]
        while pieces:
            piece = pieces.pop()
            if isinstance(piece, list):
                listing += piece
            elif piece not in self._children:
                listing += self._files.get(piece) or self._empty(piece)
            else:
                pieces += reversed(list(self._interleaved(piece)))
        return listing

    def _interleaved(self, rel: str) -> Iterator[str | list[Listed]]:
        files, position = self._files.get(rel, []), 0
        for child in sorted(self._children[rel]):
            here = bisect_left(files, child, position, key=itemgetter(NAME))
            yield files[position:here]
            yield child[:-1]
            position = here
        yield files[position:]

    def _empty(self, rel: str) -> list[Listed]:
        return [listed(f"{rel}/", self._directories[rel])] if rel not in {"", _PLAN_DIRECTORY} else []

    def start(self, root: Path) -> None:
        """Walk.

        Raises:
            OSError: The root itself cannot be listed.
        """
        place = Path(real(root))
        self._parents = _identities([place, *place.parents, *root.parents])
        self._list("", root.stat())
        self._descend()
        while self._links:
            _, _, rel, status = heapq.heappop(self._links)
            self._enter(rel, status)
            self._descend()

    def _descend(self) -> None:
        while self._todo:
            self._enter(*self._todo.pop())

    def _enter(self, rel: str, status: os.stat_result) -> None:
        identity = _identity(status)
        if identity in self._parents:
            self._skip(f"{rel}/", "cycle", "it leads back to the package root or to a directory above it")
        elif (known := self._archived_as.get(identity)) is not None:
            self._skip(f"{rel}/", "directory_repeated", f"the same directory ships already as '{printable(known)}/'")
        else:
            try:
                self._list(rel, status)
            except OSError as error:
                self._skip(f"{rel}/", "unreadable", f"it cannot be listed: {error.strerror}")

    def _list(self, rel: str, status: os.stat_result) -> None:
        # Below a descriptor the kernel walks one name a file, not the whole path.
        directory = os.open(path_of(self.base, rel), _DIRECTORY)
        try:
            with os.scandir(directory) as listing:
                found = list(listing)
            self._archived_as[_identity(status)] = rel
            self._directories[rel] = status
            if rel:
                self._children.setdefault(rel.rpartition("/")[0], []).append(f"{rel}/")
            prefix = f"{rel}/" if rel else ""
            if self._is_plain(rel, [entry.name for entry in found]):
                found = self._take_files(rel, prefix, found)
            # A stack: what is pushed last is entered first, and the first to be entered is the first by name.
            for entry in sorted(found, key=attrgetter("name"), reverse=True):
                self._look(prefix, entry)
        finally:
            os.close(directory)
        self._count(len(self._files.get(rel, ())))

    def _count(self, files: int) -> None:
        self._found += files
        if self.at_many is not None and self._found >= WORTH_A_PROCESS_FILES:
            self.at_many()
            self.at_many = None

    def _is_plain(self, rel: str, names: list[str]) -> bool:
        """Tell whether every file in a directory ships, whatever its name: one look instead of one a file."""
        together = "\0".join(names)
        if not together.isascii() or "\\" in together or rel == _PLAN_DIRECTORY:
            return False
        if not rel and (":" in together or _PLAN_DIRECTORY in names):
            return False
        return self.rules.keeps_every_file(rel, names)

    def _take_files(self, rel: str, prefix: str, found: list["os.DirEntry[str]"]) -> list["os.DirEntry[str]"]:
        """Take the regular files of a plain directory, and return what else it holds."""
        rows: list[Listed] = []
        others = []
        for entry in found:
            # The kernel has told the kind with the name: this asks nothing.
            if entry.is_file(follow_symlinks=False):
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    others.append(entry)
                    continue
                rows.append((prefix + entry.name, status[:7], status.st_mtime_ns, status.st_ctime_ns))
            else:
                others.append(entry)
        if self._watches_files:
            rows = [row for row in rows if not self._is_kept_out(row)]
        rows.sort()
        self._files[rel] = rows
        return others

    def _is_kept_out(self, row: Listed) -> bool:
        identity = row[STATUS][DEVICE], row[STATUS][INODE]
        return identity in self._avoided or self._is_data(row[NAME], identity)

    def _is_data(self, rel: str, identity: Identity, end: str = "") -> bool:
        """Tell whether something is a `Data` under this or another name, and keep it out."""
        hit = self._data.get(identity)
        if hit is None or real(path_of(self.base, rel)) != hit[0]:
            return False
        self._exclude(rel + end, hit[1])
        return True

    def _look(self, prefix: str, entry: "os.DirEntry[str]") -> None:
        is_link, is_dir = entry.is_symlink(), _is_directory(entry)
        text = utf8_name(entry.name)
        name = entry.name if text is None else text
        rel = prefix + name
        shown = f"{rel}/" if is_dir else rel
        if (rule := self.rules.match(rel, name, is_dir)) is not None:
            self._exclude(shown, rule)
            if is_link:
                self._keep_link(rel, entry)
        elif rel == PLAN_PATH:
            return
        elif rel == _PLAN_DIRECTORY and not is_dir:
            self._skip(rel, "name_reserved", f"the archive keeps the packaging plan in {PLAN_PATH}")
        elif text is None:
            self._skip(shown, "name_undecodable", "its name is not valid UTF-8")
        elif _is_unsafe(rel, name):
            self._skip(
                shown,
                "name_unsafe",
                "where a backslash or a drive letter has a meaning, its name leads out of the workspace",
            )
        else:
            try:
                status = entry.stat(follow_symlinks=is_link)
            except OSError as error:
                code, what = ("broken_link", "the link cannot be followed") if is_link else ("unreadable", "no access")
                self._skip(shown, code, f"{what}: {error.strerror}")
            else:
                self._take(rel, status, is_link=is_link)

    def _take(self, rel: str, status: os.stat_result, *, is_link: bool) -> None:
        identity, is_dir = _identity(status), stat.S_ISDIR(status.st_mode)
        if identity in self._avoided:
            self._leads_out |= is_link
            return
        if self._is_data(rel, identity, "/" if is_dir else ""):
            if is_link:
                self._kept_links[rel] = status
            return
        if is_dir and is_link:
            # A link's target may hold that of another: the wider one goes first, so that what it holds counts as real.
            depth = real(path_of(self.base, rel)).count(os.sep)
            heapq.heappush(self._links, (depth, rel.count("/"), rel, status))
            self._leads_out = True
        elif is_dir:
            self._todo.append((rel, status))
        elif stat.S_ISREG(status.st_mode):
            insort(self._files.setdefault(rel.rpartition("/")[0], []), listed(rel, status))
        else:
            self._skip(rel, "special_file", f"it is {_kind(status.st_mode)}, not a file")

    def _keep_link(self, rel: str, entry: "os.DirEntry[str]") -> None:
        try:
            self._kept_links[rel] = entry.stat()
        except OSError:
            # What leads nowhere may lead to a directory the next time, and is told as one then.
            self._leads_out = True

    def _exclude(self, shown: str, rule: ExcludeRule) -> None:
        # As it stands in an ignore file.
        pattern = f"{rule.pattern}/" if rule.kind == "glob" and rule.directories_only else rule.pattern
        self.exclusions.append(Exclusion(name=printable(shown), source=rule.source, rule=pattern))

    def _skip(self, rel: str, code: str, reason: str) -> None:
        self.skipped.append(skip(rel, code, reason))


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
            path = real(root / rule.pattern)
            try:
                found.setdefault(_identity(Path(path).stat()), (path, rule))
            except OSError:
                continue
    return found


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_unsafe(rel: str, name: str) -> bool:
    """Tell whether the runner would refuse the archive for a name."""
    climbs = "\\" in name and (rel[0] == "\\" or ".." in name.split("\\"))
    return climbs or _DRIVE.match(rel) is not None


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
