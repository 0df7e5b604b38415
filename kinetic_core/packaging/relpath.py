"""Paths relative to a root, whichever way they are spelled: as given, or with symbolic links resolved."""

import os
from pathlib import Path


def absolute(path: Path | str, cwd: Path) -> Path:
    """Return the path made absolute, with its links unresolved and its `..` taken out where that is safe.

    `link/..` is not the directory that holds `link`; where the two differ the links are resolved.

    Args:
        path: Any spelling; the empty text is the working directory.
        cwd: What a relative path is relative to.

    >>> absolute("src/../lib", Path("/p"))
    PosixPath('/p/lib')
    """
    joined = cwd / path
    lexical = os.path.normpath(joined)
    if os.pardir in joined.parts and os.path.realpath(lexical) != os.path.realpath(joined):
        return Path(os.path.realpath(joined))
    return Path(lexical)


def same_directory(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to the same place, as given or with links resolved.

    >>> same_directory(Path("/"), Path("/usr"))
    False
    """
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def spellings(path: Path, root: Path) -> tuple[str, ...]:
    """Return every way in which a path lies under a root: relative, `/`-separated, `""` for the root itself.

    The place that the links lead to comes first, because that is the one that ships when a link and its target both
    lie under the root; then the path as given.

    Args:
        path: Absolute; need not exist.
        root: An absolute directory.

    Returns:
        At most three spellings, none twice; empty when the path lies outside.

    >>> spellings(Path("/p/src/pkg"), Path("/p"))
    ('src/pkg',)
    >>> spellings(Path("/q"), Path("/p"))
    ()
    """
    real, real_root = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    found = [_below(real, real_root), _below(path, root)]
    if real != path:
        # Without links on the way, no parent is another name of the root.
        found.append(_below_alias(path, real_root))
    return tuple(dict.fromkeys(rel for rel in found if rel is not None))


def relative(path: Path, root: Path) -> str | None:
    """Return the path relative to the root, `""` for the root itself, or `None` when it lies outside.

    >>> relative(Path("/p"), Path("/p")), relative(Path("/parent"), Path("/p"))
    ('', None)
    """
    return next(iter(spellings(path, root)), None)


def _below(path: Path, root: Path) -> str | None:
    if not path.is_relative_to(root):
        return None
    rel = path.relative_to(root).as_posix()
    return "" if rel == "." else rel


def _below_alias(path: Path, real_root: Path) -> str | None:
    """Find the root among the path's own parents: `/alias/link/x`, where `/alias` is the root and `link` leads out."""
    for parent in (path, *path.parents):
        if os.path.realpath(parent) == str(real_root):
            return _below(path, parent)
    return None
