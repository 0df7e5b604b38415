"""One `.gitignore` file, read the way git reads it."""

import codecs
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
from pathspec import GitIgnoreSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE: Final = ".gitignore"
_END: Final = "\x01"
"""Ends names and patterns alike. A pattern of pathspec also matches what lies below its match; `!a` would bring
back `a/b`, which git does not. With this at its end it matches no directory on the way."""
_NOTHING: Final = "#"
"""A comment holds its line's place, so that positions stay line numbers; pathspec drops empty lines."""


@attrs.frozen
class Match:
    """What a pattern said about a path."""

    ignores: bool
    """False where a pattern with `!` brings it back."""
    origin: str
    """Where the pattern stands, such as `.gitignore:3`."""


@attrs.frozen
class Patterns:
    """The patterns of one file, which speak of what lies below its directory."""

    directory: Path
    origin: str
    """The file, relative to the package root."""
    spec: GitIgnoreSpec

    def match(self, path: Path, *, is_directory: bool) -> Match | None:
        """Return what the last matching pattern says of a path below, or `None`."""
        name = path.relative_to(self.directory).as_posix()
        result = self.spec.check_file(f"{name}{_END}{'/' if is_directory else ''}")
        if result.include is None or result.index is None:
            return None
        return Match(ignores=result.include, origin=f"{self.origin}:{result.index + 1}")


def read_patterns(directory: Path, root: Path) -> "Iterator[Patterns]":
    """Yield the patterns of the directory's own file, if it has one that git would read."""
    path = directory / FILE
    try:
        # git follows no link to such a file; a FIFO would hang.
        if not stat.S_ISREG(path.lstat().st_mode):
            return
        # Names that are no UTF-8 come from the directory listing with surrogates; patterns must equal them.
        text = path.read_bytes().removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    except OSError:
        return
    lines = [_as_pathspec_reads_it(line) for line in text.replace("\r\n", "\n").split("\n")]
    origin = Path(os.path.relpath(path, root)).as_posix()
    yield Patterns(directory=directory, origin=origin, spec=GitIgnoreSpec.from_lines(lines))


def _as_pathspec_reads_it(line: str) -> str:
    """Return a line that means to pathspec what this one means to git; a comment where git passes over it."""
    bare = _without_trailing_blanks(line)
    negation = "!" if bare.startswith("!") else ""
    pattern, slash = bare.removeprefix("!").rstrip("/"), "/" if bare.endswith("/") else ""
    # A trailing `**` is everything below and not the directory itself, in which pathspec finds it too.
    pattern = f"{pattern}/*" if pattern == "**" or pattern.endswith("/**") else pattern
    if not pattern or bare.startswith("#") or _ends_in_an_escape(pattern):
        return _NOTHING
    exact = f"{negation}{pattern}{_END}{slash}"
    try:
        GitIgnoreSpec.from_lines([exact])
    except (ValueError, re.error):
        return _NOTHING
    return exact


def _without_trailing_blanks(line: str) -> str:
    bare = line.rstrip(" ")
    return f"{bare} " if bare != line and _ends_in_an_escape(bare) else bare


def _ends_in_an_escape(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1
