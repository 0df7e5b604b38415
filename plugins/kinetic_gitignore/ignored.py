"""What git would ignore below a directory, found by walking it once.

As git does: the last pattern that matches decides, a deeper file before a shallower one; below an ignored
directory nothing is looked at, so nothing there comes back; files above the root count, up to the top of the
repository. Unlike git, the index is not asked: a tracked file that a pattern matches is left out.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kinetic_core.plugin import ExcludeRule
from kinetic_gitignore.patterns import Match, Patterns, read_patterns

_NEVER_ENTERED: Final = frozenset({".git", "__pycache__"})
"""Always out of the archive, so no rule need say it."""


def ignored(root: Path) -> tuple[ExcludeRule, ...]:
    """Return a rule for each ignored file and each ignored directory, none for what lies below one.

    Args:
        root: The package root; rules are relative to it.
    """
    rules = []
    pending = [(root, _patterns_above(root))]
    while pending:
        directory, outer = pending.pop()
        chain = (*outer, *read_patterns(directory, root))
        for entry in _entries(directory):
            is_directory = entry.is_dir(follow_symlinks=False)
            if is_directory and entry.name in _NEVER_ENTERED:
                continue
            path = directory / entry.name
            match = _deciding(chain, path, is_directory=is_directory)
            if match is not None and match.ignores:
                rules.append(_rule(path.relative_to(root), match, is_directory=is_directory))
            elif is_directory:
                pending.append((path, chain))
    return tuple(sorted(rules, key=lambda rule: rule.pattern))


def _rule(name: Path, match: Match, *, is_directory: bool) -> ExcludeRule:
    return ExcludeRule(pattern=name.as_posix(), kind="path", directories_only=is_directory, origin=match.origin)


def _entries(directory: Path) -> Sequence["os.DirEntry[str]"]:
    """List a directory; one that cannot be read is for the archive's own scan to report."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return ()


def _deciding(chain: Sequence[Patterns], path: Path, *, is_directory: bool) -> Match | None:
    for patterns in reversed(chain):
        match = patterns.match(path, is_directory=is_directory)
        if match is not None:
            return match
    return None


def _patterns_above(root: Path) -> tuple[Patterns, ...]:
    """Return the patterns between the repository's top and the root.

    None when they ignore the root itself, as in a repository at home that ignores all it does not track:
    they do not speak of a project then.
    """
    chain: tuple[Patterns, ...] = ()
    for directory in _directories_above(root):
        match = _deciding(chain, directory, is_directory=True)
        if match is not None and match.ignores:
            return ()
        if directory != root:
            chain = (*chain, *read_patterns(directory, root))
    return chain


def _directories_above(root: Path) -> tuple[Path, ...]:
    """Return the directories from the repository's top down to the root, the root last; none outside a repository."""
    upward = [root, *root.parents]
    for count, directory in enumerate(upward, start=1):
        if os.path.exists(directory / ".git"):  # noqa: PTH110 - unlike Path.exists, false where it may not look
            return tuple(reversed(upward[:count]))
    return ()
