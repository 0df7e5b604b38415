"""Making a layer: what an archive holds beyond those in the store, as small as it can be without a long chain."""

import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.model.package import Artifact
from kinetic_core.packaging.composition import DEFAULT_LIMITS, LOOSE, Composition, Limits
from kinetic_core.packaging.output import Output
from kinetic_core.packaging.zipformat import (
    DEFLATED,
    Member,
    central_header,
    dos_time,
    end_of_archive,
    local_header,
)
from kinetic_core.wire.layer import LAYER_SUFFIX, RECIPE_PATH, Part, Recipe, Source
from kinetic_core.wire.zipdirectory import Directory

_RECIPE_MODE: Final = 0o100644


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Layer:
    """A layer on disk."""

    artifact: Artifact
    composition: Composition
    """Of the archive: the layer is its last source."""


def make_layer(
    archive: Artifact,
    composition: Composition,
    target: Path,
    *,
    present: Collection[str],
    limits: Limits = DEFAULT_LIMITS,
) -> Layer | None:
    """Write the layer of an archive, or nothing where storing the archive whole is the better deal.

    It is, where the base is gone, nearly all is new, or most of what the pod would fetch is not needed. What lies in
    a layer that is gone goes into the new one; so do the contents of layers of which little is needed.

    Args:
        archive: Written by `write_archive`.
        composition: Of that archive.
        target: Where the layer is to lie.
        present: Names of the sources that are in the store.
        limits: When it is worth it.

    Raises:
        PackagingError: The layer cannot be written.
        ValueError: The archive is not what the composition tells of.
        OSError: The archive cannot be read.
    """
    size_bytes = archive.size_bytes
    if not limits.saved < size_bytes < limits.archive or composition.base.name not in present:
        return None
    with _opened(archive.path) as directory:
        entries = sum(part.entries for part in composition.parts)
        if entries != len(directory) - 1:
            raise ValueError(f"the archive has {len(directory) - 1} entries besides the plan, not {entries}")
        used = _used_bytes(composition, directory)
        kept = _kept(composition, used, present, limits)
        new_bytes = sum(size for source, size in used.items() if source not in kept)
        fetched = sum(composition.sources[source].size_bytes for source in kept) + new_bytes
        if new_bytes + limits.saved > size_bytes or fetched > 2 * size_bytes + limits.fetched:
            return None
        return _Layering(archive, directory, composition, kept).write(target)


def _used_bytes(composition: Composition, directory: Directory) -> dict[int, int]:
    """Return how many bytes of the archive come from each source; the base is always among them."""
    used: Counter[int] = Counter({0: 0})
    position = 0
    for part in composition.parts:
        start, stop = directory.bounds(position, part.entries)
        used[part.source] += stop - start
        position += part.entries
    return dict(used)


def _kept(composition: Composition, used: Mapping[int, int], present: Collection[str], limits: Limits) -> list[int]:
    """Return the sources to refer to, the base first; what lies in others goes into the layer."""
    usable = [
        source for source in used if source != LOOSE and (source == 0 or composition.sources[source].name in present)
    ]
    layers = sorted((source for source in usable if source), key=lambda source: used[source])
    repeated = 0
    while layers and (repeated + used[layers[0]] <= limits.repeated or len(layers) >= limits.sources):
        repeated += used[layers.pop(0)]
    return [0, *sorted(layers)]


@attrs.frozen(eq=False, repr=False)
class _Layering:
    archive: Artifact
    directory: Directory
    composition: Composition
    kept: list[int]

    def write(self, target: Path) -> Layer:
        """Write the entries that no kept source holds, the plan, and the recipe."""
        own = len(self.kept)
        parts = tuple(self._parts())
        sources = tuple(self.composition.sources[source] for source in self.kept)
        data = self.directory.data
        recipe = Recipe(
            sha256=self.archive.sha256,
            size_bytes=self.archive.size_bytes,
            sources=sources,
            parts=parts,
            end=data[self.directory.stop :],
        )
        records: list[bytes] = []
        position = 0
        with Output(target, crc32=zlib.crc32) as output:
            for part in parts:
                if part.source == own:
                    start, stop = self.directory.bounds(position, part.entries)
                    records.append(self.directory.records(position, part.entries, output.position - start))
                    output.write(data[start:stop])
                position += part.entries
            records.append(_add(output, recipe.to_bytes()))
            closing = b"".join(records)
            own_entries = sum(part.entries for part in parts if part.source == own) + 1
            end = end_of_archive(entries=own_entries, offset=output.position, size_bytes=len(closing))
            output.write(closing + end)
            output.finish()
        artifact = Artifact(path=target, size_bytes=output.position, sha256=output.sha256)
        layer = Source(f"{artifact.sha256}{LAYER_SUFFIX}", artifact.sha256, artifact.size_bytes)
        made = Composition(sha256=self.archive.sha256, sources=(*sources, layer), parts=_without_plan(parts))
        return Layer(artifact=artifact, composition=made)

    def _parts(self) -> Iterator[Part]:
        """Yield the recipe's parts: sources under their new numbers, the layer's own entries counted through."""
        numbers = {source: number for number, source in enumerate(self.kept)}
        own, taken, pending = len(self.kept), 0, 0
        for part in self.composition.parts:
            if part.source not in numbers:
                pending += part.entries
                continue
            if pending:
                yield Part(own, taken, pending)
                taken, pending = taken + pending, 0
            yield part._replace(source=numbers[part.source])
        # The plan stands behind the last entry.
        yield Part(own, taken, pending + 1)


def _without_plan(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    *others, last = parts
    return (*others, last._replace(entries=last.entries - 1)) if last.entries > 1 else tuple(others)


def _add(output: Output, recipe: bytes) -> bytes:
    """Write the recipe as an entry; return its record."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflater.compress(recipe) + deflater.flush()
    date, clock = dos_time(0)
    member = Member(
        RECIPE_PATH.encode(), _RECIPE_MODE, date, clock,
        method=DEFLATED, crc=zlib.crc32(recipe), compressed_bytes=len(body), size_bytes=len(recipe),
        offset=output.position,
    )  # fmt: skip
    output.write(local_header(member) + body)
    return central_header(member)


@contextmanager
def _opened(path: Path) -> Iterator[Directory]:
    with path.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
        yield Directory(data)
