"""Paths relative to a root, whichever way they are spelled: as given, or with symbolic links resolved."""

import contextlib
import os
from pathlib import Path
from typing import Final

_TRIES: Final = 3


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


def real(path: Path | str) -> str:
    """Return what `os.path.realpath` does, also when a link on the way goes while it is followed: that fails there.

    >>> real("/proc/../nowhere/at/all")
    '/nowhere/at/all'
    """
    for _ in range(_TRIES):
        with contextlib.suppress(OSError):
            return os.path.realpath(path)
    return os.path.abspath(path)


class Links:
    """Resolves symbolic links for a while in which none changes, looking at each directory once.

    >>> Links().real("/proc/../nowhere/at/all")
    '/nowhere/at/all'
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[str, str] = {os.sep: os.sep}

    def real(self, path: str) -> str:
        """Return what `os.path.realpath` does."""
        if path != os.path.normpath(path) or not os.path.isabs(path) or path.startswith("//"):
            return os.path.realpath(path)
        at, below = path, []
        while (real := self._known.get(at)) is None:
            at, name = os.path.split(at)
            below.append(name)
        for name in reversed(below):
            at, joined = os.path.join(at, name), os.path.join(real, name)
            real = self._known[at] = os.path.realpath(joined) if os.path.islink(joined) else joined
        return real


def same_directory(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to the same place, as given or with links resolved.

    >>> same_directory(Path("/"), Path("/usr"))
    False
    """
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def spellings(path: Path, root: Path, links: Links | None = None) -> tuple[str, ...]:
    """Return every way in which a path lies under a root: relative, `/`-separated, `""` for the root itself.

    The place that the links lead to comes first, because that is the one that ships when a link and its target both
    lie under the root; then the path as given.

    Args:
        path: Absolute; need not exist.
        root: An absolute directory.
        links: Shared by all that is asked at once.

    Returns:
        At most three spellings, none twice; empty when the path lies outside.

    >>> spellings(Path("/p/src/pkg"), Path("/p"))
    ('src/pkg',)
    >>> spellings(Path("/q"), Path("/p"))
    ()
    """
    links = links or Links()
    given, real, real_root = str(path), links.real(str(path)), links.real(str(root))
    found = [_below(real, real_root), _below(given, str(root))]
    if real != given:
        # Without links on the way, no parent is another name of the root.
        found.append(_below_alias(path, real_root, links))
    return tuple(dict.fromkeys(rel for rel in found if rel is not None))


def relative(path: Path, root: Path) -> str | None:
    """Return the path relative to the root, `""` for the root itself, or `None` when it lies outside.

    >>> relative(Path("/p"), Path("/p")), relative(Path("/parent"), Path("/p"))
    ('', None)
    """
    return next(iter(spellings(path, root)), None)


def _below(path: str, root: str) -> str | None:
    if path == root:
        return ""
    folder = f"{root.rstrip('/')}/"
    return path.removeprefix(folder) if path.startswith(folder) else None


def _below_alias(path: Path, real_root: str, links: Links) -> str | None:
    """Find the root among the path's own parents: `/alias/link/x`, where `/alias` is the root and `link` leads out."""
    for parent in (path, *path.parents):
        if links.real(str(parent)) == real_root:
            return _below(str(path), str(parent))
    return None
