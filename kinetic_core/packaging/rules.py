"""Exclude rules: the built-in ones, those for `Data`, and a set of rules compiled for many questions."""

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.printable import printable
from kinetic_core.packaging.relpath import spellings

ENV_NO_DEFAULT_EXCLUDES: Final = "KINETIC_NO_DEFAULT_EXCLUDES"
ALWAYS: Final = "always"
DEFAULT: Final = "default"
DATA: Final = "data"
IGNORE_FILE: Final = "ignore-file"

ALWAYS_NAMES: Final = (".git", "__pycache__")
DEFAULT_NAMES: Final = (
    ".venv",
    "venv",
    "node_modules",
    ".tox",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".ipynb_checkpoints",
    ".DS_Store",
)
ALWAYS_RULES: Final = tuple(
    ExcludeRule(pattern=name, kind="name", directories_only=True, source=ALWAYS) for name in ALWAYS_NAMES
)
"""What nothing turns off: directories at any depth."""
DEFAULT_RULES: Final = tuple(ExcludeRule(pattern=name, kind="name", source=DEFAULT) for name in DEFAULT_NAMES)
"""What `KINETIC_NO_DEFAULT_EXCLUDES` turns off: files or directories at any depth."""
_MAGIC: Final = frozenset("*?[")


def default_rules(environ: Mapping[str, str]) -> tuple[ExcludeRule, ...]:
    """Return the default rules: files or directories at any depth.

    Args:
        environ: None of them applies when `KINETIC_NO_DEFAULT_EXCLUDES` is exactly `1` there.

    >>> len(default_rules({})), len(default_rules({"KINETIC_NO_DEFAULT_EXCLUDES": "1"}))
    (9, 0)
    """
    return () if environ.get(ENV_NO_DEFAULT_EXCLUDES) == "1" else DEFAULT_RULES


def builtin_rules(environ: Mapping[str, str]) -> tuple[ExcludeRule, ...]:
    """Return the rules that always apply and the default ones, the former first.

    >>> {rule.source for rule in builtin_rules({"KINETIC_NO_DEFAULT_EXCLUDES": "true"})} == {"always", "default"}
    True
    """
    return ALWAYS_RULES + default_rules(environ)


def data_rules(root: Path, paths: Iterable[Path]) -> tuple[ExcludeRule, ...]:
    """Keep the local path of each `Data` out of the archive: its content travels apart.

    A path under the root gives one rule for each way in which it lies there. Any other path gives one absolute rule,
    which applies where a link under the root leads to it. A `Data` that is the root, or holds it, excludes nothing.

    Args:
        root: The package root, absolute.
        paths: Absolute local paths.

    >>> [rule.pattern for rule in data_rules(Path("/p"), [Path("/p/data"), Path("/elsewhere")])]
    ['data', '/elsewhere']
    """
    rules = []
    for path in dict.fromkeys(paths):
        if spellings(root, path):
            continue
        patterns = spellings(path, root) or (str(path),)
        rules += [ExcludeRule(pattern=pattern, kind="path", source=DATA, origin=str(path)) for pattern in patterns]
    return tuple(rules)


def compile_glob(pattern: str) -> str | None:
    """Return the regular expression of an `fnmatch` pattern, or `None` when it cannot be compiled.

    >>> compile_glob("*.ckpt") is not None
    True
    """
    try:
        translated = fnmatch.translate(pattern)
        re.compile(translated)
    except (re.error, OverflowError, RecursionError):
        return None
    return translated


def _never(_: str) -> None:
    return None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RuleSet:
    """Many rules, sorted by kind once, so that asking costs the same however many there are.

    >>> rules = RuleSet.compile([ExcludeRule(pattern="*.ckpt"), ExcludeRule(pattern="runs", directories_only=True)])
    >>> rules.match("a/b.ckpt", "b.ckpt", is_dir=False).pattern
    '*.ckpt'
    >>> rules.match("runs", "runs", is_dir=False) is None
    True
    """

    rules: tuple[ExcludeRule, ...]
    """In order: the first that matches is the one that is told."""
    findings: tuple[Finding, ...] = ()
    """One for each rule left out because `fnmatch` cannot compile it."""
    _always: "_Kinds" = attrs.field(alias="for_all", repr=False)
    _directories: "_Kinds" = attrs.field(alias="for_directories", repr=False)

    @classmethod
    def compile(cls, rules: Iterable[ExcludeRule]) -> "RuleSet":
        """Sort the rules by kind: exact names and paths, suffixes, and one regular expression for the rest."""
        kept, findings = [], []
        for rule in rules:
            if rule.kind == "glob" and compile_glob(rule.pattern) is None:
                findings.append(uncompilable(rule))
            else:
                kept.append(rule)
        numbered = list(enumerate(kept))
        return cls(
            rules=tuple(kept),
            findings=tuple(findings),
            for_all=_Kinds.of((number, rule) for number, rule in numbered if not rule.directories_only),
            for_directories=_Kinds.of(numbered),
        )

    @property
    def sources(self) -> tuple[str, ...]:
        """Name who contributed rules, in order of first appearance."""
        return tuple(dict.fromkeys(rule.source for rule in self.rules))

    # One call a file: the flag says what the third place of the call means.
    def match(self, rel: str, name: str, is_dir: bool) -> ExcludeRule | None:  # noqa: FBT001
        """Return the first rule that keeps something out, or `None`.

        Args:
            rel: Path relative to the root, `/`-separated.
            name: Its last part.
            is_dir: Whether it is a directory, or a link to one.
        """
        kinds = self._directories if is_dir else self._always
        number = min(kinds.matching(rel, name), default=None)
        return None if number is None else self.rules[number]

    def keeps_every_file(self, directory: str, names: Sequence[str]) -> bool:
        """Tell whether no rule keeps a file of any of these names out: one question for a whole directory.

        Args:
            directory: Relative to the root, `""` for the root itself; not excluded, and nothing above it is.
            names: Last names.
        """
        kinds = self._always
        # In the order of what it costs; sets are asked at the speed of C.
        if not kinds.names.keys().isdisjoint(names):
            return False
        here = kinds.below.get(directory)
        if here is not None and not here.isdisjoint(names):
            return False
        if kinds.suffixes and any(name.endswith(kinds.suffixes) for name in names):
            return False
        if kinds.on_name is not _never and any(map(kinds.on_name, names)):
            return False
        prefix = f"{directory}/" if directory else ""
        return kinds.on_path is _never or not any(kinds.on_path(prefix + name) for name in names)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class _Kinds:
    """Rules by what they look at; each with its number, or many as one."""

    names: Mapping[str, int]
    """Exact last names."""
    paths: Mapping[str, int]
    """Exact paths."""
    trees: Mapping[str, int]
    """Paths that stand for all below them too."""
    below: Mapping[str, frozenset[str]]
    """The last names of the paths, by the directory that holds them."""
    suffixes: tuple[str, ...]
    on_path: Callable[[str], object]
    on_name: Callable[[str], object]
    patterns: tuple[tuple[int, str], ...]
    """Those that the suffixes and the two expressions stand for."""

    @classmethod
    def of(cls, rules: Iterable[tuple[int, ExcludeRule]]) -> "_Kinds":
        names: dict[str, int] = {}
        paths: dict[str, int] = {}
        trees: dict[str, int] = {}
        suffixes, on_path, on_name, patterns = [], [], [], []
        for number, rule in rules:
            pattern = rule.pattern
            if rule.kind == "name":
                names.setdefault(pattern, number)
            elif rule.kind == "path":
                paths.setdefault(pattern, number)
                trees.setdefault(pattern, number)
            elif not _MAGIC & set(pattern):
                (paths if "/" in pattern else names).setdefault(pattern, number)
            else:
                patterns.append((number, pattern))
                if pattern[0] == "*" and not (_MAGIC | {"/"}) & set(pattern[1:]):
                    suffixes.append(pattern[1:])
                    continue
                on_path.append(pattern)
                # What starts with a star and matches the last name matches the path too.
                if pattern[0] != "*":
                    on_name.append(pattern)
        return cls(
            names=names,
            paths=paths,
            trees=trees,
            below=_by_directory(paths),
            suffixes=tuple(suffixes),
            on_path=_one_expression(on_path),
            on_name=_one_expression(on_name),
            patterns=tuple(patterns),
        )

    def matching(self, rel: str, name: str) -> Iterator[int]:
        """Yield the numbers of matching rules, among them the lowest."""
        if (number := self.names.get(name)) is not None:
            yield number
        if (number := self.paths.get(rel)) is not None:
            yield number
        if self.trees:
            yield from (self.trees[parent] for parent in _parents(rel) if parent in self.trees)
        if name.endswith(self.suffixes) or self.on_path(rel) is not None or self.on_name(name) is not None:
            yield next(number for number, pattern in self.patterns if _matches(pattern, rel, name))


def _by_directory(paths: Iterable[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for path in paths:
        directory, _, name = path.rpartition("/")
        found.setdefault(directory, set()).add(name)
    return {directory: frozenset(names) for directory, names in found.items()}


def _one_expression(patterns: Sequence[str]) -> Callable[[str], object]:
    return (
        re.compile("|".join(f"(?:{fnmatch.translate(pattern)})" for pattern in patterns)).match if patterns else _never
    )


def _parents(rel: str) -> Iterator[str]:
    while rel := rel.rpartition("/")[0]:
        yield rel


def _matches(pattern: str, rel: str, name: str) -> bool:
    return fnmatch.fnmatchcase(rel, pattern) or fnmatch.fnmatchcase(name, pattern)


def uncompilable(rule: ExcludeRule) -> Finding:
    """Return the warning about a pattern that `fnmatch` cannot compile, naming where it was written.

    >>> uncompilable(ExcludeRule(pattern="[", origin=".kineticignore:3")).message
    ".kineticignore:3: the pattern '[' cannot be compiled, so it excludes nothing"
    """
    return Finding(
        code="rule_uncompilable",
        severity=Severity.WARNING,
        message=f"{rule.origin or rule.source}: the pattern '{printable(rule.pattern)}' cannot be compiled, "
        "so it excludes nothing",
        remedy="Write it in the syntax of Python's fnmatch.",
    )
