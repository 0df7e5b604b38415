"""Of what an archive is made: which stretches of it lie in which archives of a store, followed through edits."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import attrs

from kinetic_core.packaging.zipformat import LIMIT_32
from kinetic_core.wire.layer import Part, Source
from kinetic_core.wire.names import CONTEXT_FILE

LOOSE: Final = -1
"""The source of entries that lie in none."""


class Limits(NamedTuple):
    """When a layer is worth it. Sizes are in bytes."""

    saved: int = 64 << 10
    """A layer must spare the store at least so much."""
    repeated: int = 32 << 10
    """A layer holds so much of earlier layers again, so that there are few."""
    sources: int = 8
    """A layer refers to so many archives."""
    fetched: int = 16 << 20
    """The pod fetches so much more than twice the archive."""
    archive: int = LIMIT_32
    """Offsets in larger archives need more than 32 bits; those are stored whole."""


DEFAULT_LIMITS: Final = Limits()


class Copied(NamedTuple):
    """Consecutive entries that were copied from an earlier archive."""

    start: int
    entries: int
    earlier: int
    """Where they start there."""


@attrs.frozen(kw_only=True)
class Composition:
    """Of what one archive is made. Entries are counted as they stand; the plan, which comes last, is left out.

    >>> whole = Composition.whole("ab" * 32, size_bytes=900, entries=5)
    >>> edited = whole.after([Copied(0, 2, 0), Copied(3, 2, 3)], sha256="cd" * 32, entries=5)
    >>> [tuple(part) for part in edited.parts]
    [(0, 0, 2), (-1, 0, 1), (0, 3, 2)]
    """

    sha256: str
    """Of the archive."""
    sources: tuple[Source, ...]
    """The base first."""
    parts: tuple[Part, ...]
    """In order; they cover all entries."""
    is_stored: bool = True
    """Whether the last source says how to make the archive; if not, sources are only what may be used for it."""

    @classmethod
    def whole(cls, sha256: str, *, size_bytes: int, entries: int) -> "Composition":
        """Return what is said of an archive that is stored as it is."""
        parts = (Part(0, 0, entries),) if entries else ()
        return cls(sha256=sha256, sources=(Source(CONTEXT_FILE, sha256, size_bytes),), parts=parts)

    @property
    def base(self) -> Source:
        """Return the archive that everything starts with."""
        return self.sources[0]

    def after(self, copied: Iterable[Copied], *, sha256: str, entries: int) -> "Composition":
        """Return what is said of a later archive, some of whose entries were copied from this one.

        Args:
            copied: In order.
            sha256: Of the later archive.
            entries: How many it has.
        """
        parts: list[Part] = []
        stops = list(accumulate(part.entries for part in self.parts))
        position = 0
        for stretch in copied:
            _append(parts, Part(LOOSE, 0, stretch.start - position))
            for part in self._within(stops, stretch.earlier, stretch.entries):
                _append(parts, part)
            position = stretch.start + stretch.entries
        _append(parts, Part(LOOSE, 0, entries - position))
        return attrs.evolve(self, sha256=sha256, parts=tuple(parts), is_stored=sha256 == self.sha256 and self.is_stored)

    def _within(self, stops: Sequence[int], start: int, count: int) -> Iterator[Part]:
        index = bisect_right(stops, start)
        while count > 0 and index < len(self.parts):
            part = self.parts[index]
            skipped = start - (stops[index] - part.entries)
            taken = min(count, part.entries - skipped)
            yield Part(part.source, part.first + skipped if part.source != LOOSE else 0, taken)
            start, count, index = start + taken, count - taken, index + 1

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {
            "sha256": self.sha256,
            "sources": [list(source) for source in self.sources],
            "parts": [list(part) for part in self.parts],
            "is_stored": self.is_stored,
        }

    @classmethod
    def from_json(cls, raw: Any) -> "Composition":
        """Read what `to_json` returned.

        Raises:
            ValueError: It is something else.

        >>> import json
        >>> whole = Composition.whole("ab" * 32, size_bytes=900, entries=5)
        >>> Composition.from_json(json.loads(json.dumps(whole.to_json()))) == whole
        True
        """
        try:
            return cls(
                sha256=raw["sha256"],
                sources=tuple(Source(*source) for source in raw["sources"]),
                parts=tuple(Part(*part) for part in raw["parts"]),
                is_stored=raw["is_stored"],
            )
        except (TypeError, KeyError) as error:
            raise ValueError("it tells of no composition") from error


def _append(parts: list[Part], part: Part) -> None:
    """Add a part, as one with the last where they lie behind one another."""
    if not part.entries:
        return
    if parts and parts[-1].source == part.source:
        last = parts[-1]
        if part.source == LOOSE or last.first + last.entries == part.first:
            parts[-1] = last._replace(entries=last.entries + part.entries)
            return
    parts.append(part)
