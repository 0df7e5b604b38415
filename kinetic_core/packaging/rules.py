"""Exclude rules: the built-in ones, those for `Data`, and a set of rules compiled for many questions."""

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, assert_never

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


@attrs.frozen(kw_only=True)
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
        return cls(
            rules=tuple(kept),
            findings=tuple(findings),
            for_all=_Kinds.of([rule for rule in kept if not rule.directories_only]),
            for_directories=_Kinds.of(kept),
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
        if not kinds.matches(rel, name):
            return None
        return next(rule for rule in self.rules if (is_dir or not rule.directories_only) and _applies(rule, rel, name))


@attrs.frozen(kw_only=True)
class _Kinds:
    names: frozenset[str]
    suffixes: tuple[str, ...]
    paths: frozenset[str]
    below: tuple[str, ...]
    glob: Callable[[str], object]

    @classmethod
    def of(cls, rules: Iterable[ExcludeRule]) -> "_Kinds":
        names, suffixes, paths, below, rest = set(), [], set(), [], []
        for rule in rules:
            pattern = rule.pattern
            if rule.kind == "name":
                names.add(pattern)
            elif rule.kind == "path":
                paths.add(pattern)
                below.append(f"{pattern}/")
            elif not _MAGIC & set(pattern):
                (paths if "/" in pattern else names).add(pattern)
            elif pattern[0] == "*" and not (_MAGIC | {"/"}) & set(pattern[1:]):
                suffixes.append(pattern[1:])
            else:
                rest.append(f"(?:{fnmatch.translate(pattern)})")
        return cls(
            names=frozenset(names),
            suffixes=tuple(suffixes),
            paths=frozenset(paths),
            below=tuple(below),
            glob=re.compile("|".join(rest)).match if rest else _never,
        )

    def matches(self, rel: str, name: str) -> bool:
        return (
            name in self.names
            or name.endswith(self.suffixes)
            or rel in self.paths
            or rel.startswith(self.below)
            or self.glob(rel) is not None
            or self.glob(name) is not None
        )


def _applies(rule: ExcludeRule, rel: str, name: str) -> bool:
    match rule.kind:
        case "name":
            return name == rule.pattern
        case "path":
            return rel == rule.pattern or rel.startswith(f"{rule.pattern}/")
        case "glob":
            return fnmatch.fnmatchcase(rel, rule.pattern) or fnmatch.fnmatchcase(name, rule.pattern)
        case _:
            assert_never(rule.kind)


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
