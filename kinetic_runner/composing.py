"""Putting a context archive together from the base and the layers that lie in the store."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

from kinetic_core.wire.digest import HashingWriter, sha256_of_file
from kinetic_core.wire.layer import Recipe, read_recipe
from kinetic_core.wire.zipdirectory import Directory
from kinetic_runner.fetch import Fetched
from kinetic_runner.naming import naming
from kinetic_runner.uris import base_name

_CHUNK_BYTES: Final = 4 << 20


def compose(base: Fetched, layers: Sequence[Fetched], target: Path) -> Fetched:
    """Write the archive that the last layer tells of, byte for byte as the client had it.

    Args:
        base: As it lies in the store.
        layers: In the recipe's order, the one with the recipe last.
        target: Where the archive is to lie.

    Returns:
        The archive, with the hash of what was written; whether it is right is for the caller to ask.

    Raises:
        ValueError: What lies in the store does not go together; says which object to blame, where that shows.
        OSError: Something cannot be read or written.
    """
    *earlier, top = layers
    with ExitStack() as stack:
        last = stack.enter_context(_opened(top))
        try:
            recipe = read_recipe(last)
        except ValueError as error:
            raise ValueError(f"{top.uri} is damaged: {error}") from error
        _check_sources(recipe, [base, *earlier])
        sources = [*(stack.enter_context(_opened(one)) for one in (base, *earlier)), last]
        return Fetched(uri=base.uri, path=target, sha256=_write(recipe, sources, target))


def blame(base: Fetched, layers: Sequence[Fetched]) -> str:
    """Say which of the objects is not what its name in the store says; after a composition that went wrong.

    Args:
        base: Named by the folder it lies in.
        layers: Named by their own hashes.
    """
    named = [(base, base_name(base.uri.rpartition("/")[0])), *((one, base_name(one.uri)[:64]) for one in layers)]
    wrong = [one.uri for one, sha256 in named if sha256_of_file(one.path) != sha256]
    return f"damaged in the store: {', '.join(wrong)}" if wrong else "all objects in the store are whole"


def _check_sources(recipe: Recipe, given: Sequence[Fetched]) -> None:
    wanted, there = [source.name for source in recipe.sources], [base_name(one.uri) for one in given]
    if wanted != there:
        raise ValueError(f"the context is made of {', '.join(wanted)}, but the job names {', '.join(there)}")


@contextmanager
def _opened(fetched: Fetched) -> Iterator[Directory]:
    with fetched.path.open("rb") as stream:
        try:
            data = mmap(stream.fileno(), 0, access=ACCESS_READ)
        except ValueError as error:
            raise ValueError(f"{fetched.uri} is damaged: it is empty") from error
        with data:
            try:
                directory = Directory(data)
            except ValueError as error:
                raise ValueError(f"{fetched.uri} is damaged: {error}") from error
            yield directory


def _write(recipe: Recipe, sources: Sequence[Directory], target: Path) -> str:
    records: list[bytes] = []
    with naming(target), target.open("wb") as stream:
        writer = HashingWriter(stream)
        for part in recipe.parts:
            if not 0 <= part.source < len(sources):
                raise ValueError(f"the recipe of the context asks for source {part.source} of {len(sources)}")
            source = sources[part.source]
            start, stop = source.bounds(part.first, part.entries)
            records.append(source.records(part.first, part.entries, writer.size_bytes - start))
            if writer.size_bytes + stop - start > recipe.size_bytes:
                raise ValueError("the recipe of the context makes more than it says")
            for at in range(start, stop, _CHUNK_BYTES):
                writer.write(source.data[at : min(at + _CHUNK_BYTES, stop)])
        writer.write(b"".join((*records, recipe.end)))
        return writer.hexdigest()
