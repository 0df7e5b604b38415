"""A layer: what a context archive holds beyond archives that lie in the store already, and how to put it together.

A layer is itself a ZIP archive: the entries that are new, the packaging plan, and last, at a reserved path, a recipe.
The recipe names its sources — the base, perhaps earlier layers, then the layer itself — and says which stretches of
their entries make up the archive. Entries keep their bytes, compressed as they are; only offsets are counted anew.
"""

import json
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from kinetic_core.wire.zipdirectory import Directory

FORMAT: Final = 1
RECIPE_PATH: Final = ".kinetic/layer.json"
LAYER_SUFFIX: Final = ".layer"
_LOCAL_HEADER_BYTES: Final = 30
_MAX_RECIPE_BYTES: Final = 64 << 20


class Part(NamedTuple):
    """Consecutive entries of one source."""

    source: int
    """Number of the source; the layer itself comes after all that the recipe names."""
    first: int
    entries: int


class Source(NamedTuple):
    """An archive that lies in the store."""

    name: str
    """Last part of its URL."""
    sha256: str
    size_bytes: int


class Recipe(NamedTuple):
    """How an archive is put together."""

    sha256: str
    """Of the archive."""
    size_bytes: int
    sources: tuple[Source, ...]
    """The base first; without the layer itself."""
    parts: tuple[Part, ...]
    """In the archive's order."""
    end: bytes
    """What stands behind the archive's directory."""

    def to_bytes(self) -> bytes:
        """Return the JSON object that the layer holds."""
        raw = {
            "format": FORMAT,
            "sha256": self.sha256,
            "size_bytes": self.size_bytes,
            "sources": [list(source) for source in self.sources],
            "parts": [number for part in self.parts for number in part],
            "end": self.end.hex(),
        }
        return json.dumps(raw, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Recipe":
        """Read what `to_bytes` wrote.

        Raises:
            ValueError: It is no recipe, or one of a later format.

        >>> Recipe.from_bytes(b"{}")
        Traceback (most recent call last):
        ValueError: it holds no recipe of format 1
        """
        try:
            raw: Any = json.loads(data)
            numbers = map(int, raw["parts"])
            recipe = cls(
                sha256=str(raw["sha256"]),
                size_bytes=int(raw["size_bytes"]),
                sources=tuple(Source(str(name), str(sha256), int(size)) for name, sha256, size in raw["sources"]),
                parts=tuple(map(Part._make, zip(numbers, numbers, numbers, strict=True))),
                end=bytes.fromhex(raw["end"]),
            )
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(f"it holds no recipe of format {FORMAT}") from error
        if raw["format"] != FORMAT:
            raise ValueError(f"its recipe is of format {raw['format']!r}; this runner reads format {FORMAT}")
        return recipe


def read_recipe(layer: "Directory") -> Recipe:
    """Return the recipe that a layer ends with.

    Raises:
        ValueError: It has none that can be used.
    """
    start, stop = layer.bounds(max(0, len(layer) - 1), min(1, len(layer)))
    name_at = start + _LOCAL_HEADER_BYTES
    content_at = name_at + len(RECIPE_PATH)
    if layer.data[name_at:content_at] != RECIPE_PATH.encode():
        raise ValueError("it is no layer: it does not end with a recipe")
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        recipe = unpacker.decompress(layer.data[content_at:stop], _MAX_RECIPE_BYTES)
    except zlib.error as error:
        raise ValueError(f"its recipe is damaged: {error}") from error
    return Recipe.from_bytes(recipe)
