"""Project trees to package: always the same, whatever machine makes them."""

import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.corpus import Corpus

# Change it with what a generator writes: a tree of an older one is made anew.
_VERSION: Final = 1
# Long past, so that no cache takes a file for one that may still be written.
_MTIME_S: Final = 1_600_000_000
_SUFFIXES: Final = (".py", ".py", ".py", ".json", ".yaml", ".md", ".txt", ".sh")
_BIG_FILE_BYTES: Final = 64 << 20
_BLOCK_BYTES: Final = 8 << 10
_GROWTH: Final = "grow-"


class _Planter:
    """Writes files below one root."""

    def __init__(self, root: Path, seed: int) -> None:
        self.corpus = Corpus(seed)
        self._root = root
        self._made: set[str] = set()

    def folders(self, count: int, *, depth: int, prefix: str) -> list[str]:
        """Return names of folders that hold one another, `""` for the root first."""
        grown = [""]
        while len(grown) < count:
            parent = self.corpus.random.choice(grown)
            if parent.count("/") < depth:
                grown.append(f"{parent}{prefix}{len(grown):04}/")
        return grown

    def folder(self, name: str) -> None:
        if name not in self._made:
            (self._root / name).mkdir(parents=True, exist_ok=True)
            self._made.add(name)

    def file(self, name: str, content: bytes, *, mode: int = 0o644) -> None:
        self.folder(name.rpartition("/")[0])
        path = self._root / name
        path.write_bytes(content)
        path.chmod(mode)
        os.utime(path, (_MTIME_S, _MTIME_S))


def _src2k(planter: _Planter) -> None:
    """Write a typical project: 2,000 modules, 10 MB."""
    corpus = planter.corpus
    folders = planter.folders(150, depth=6, prefix="package_")
    for number in range(2_000):
        mode = 0o755 if number % 50 == 0 else 0o644
        name = f"{corpus.random.choice(folders)}module_{number:04}.py"
        planter.file(name, corpus.source(5_200), mode=mode)
    for number in range(10):
        planter.folder(f"empty_{number:02}")


def _prune_bare(planter: _Planter) -> None:
    """Write 20,000 small files, about 75 MB."""
    corpus = planter.corpus
    folders = planter.folders(1_200, depth=7, prefix="part_")
    for number in range(20_000):
        suffix = _SUFFIXES[number % len(_SUFFIXES)]
        planter.file(f"{corpus.random.choice(folders)}file_{number:05}{suffix}", corpus.source(3_700))


def _prune(planter: _Planter) -> None:
    """Write the same 20,000 files, and 50,000 more where no packager should look."""
    _prune_bare(planter)
    corpus = planter.corpus
    for number in range(10_000):
        planter.file(f".git/objects/{number % 256:02x}/{number:038x}", corpus.noise(400))
    for number in range(25_000):
        inner = ("lib", "dist/esm", "dist/cjs")[number % 3]
        planter.file(f"node_modules/module_{number % 400:03}/{inner}/file_{number:05}.js", corpus.source(1_500))
    for number in range(15_000):
        place = f".venv/lib/python3/site-packages/library_{number % 150:03}"
        planter.file(f"{place}/module_{number:05}.py", corpus.source(1_500))


def _big(planter: _Planter) -> None:
    """Write 1 GiB: 8 files of weights that do not compress, 8 of text that does."""
    corpus = planter.corpus
    for number in range(8):
        planter.file(f"weights/layer_{number}.bin", corpus.noise(_BIG_FILE_BYTES))
    for number in range(8):
        blocks = [corpus.slice(_BLOCK_BYTES) for _ in range(_BIG_FILE_BYTES // _BLOCK_BYTES)]
        planter.file(f"data/table_{number}.csv", b"".join(blocks))


def _deep(planter: _Planter) -> None:
    """Write 1,000 files along a chain of 200 folders."""
    place = ""
    for level in range(200):
        place += f"level_{level:03}/"
        for number in range(5):
            planter.file(f"{place}module_{number}.py", planter.corpus.source(3_000))


def _many(planter: _Planter, count: int = 100_000) -> None:
    """Write 100,000 files of a kilobyte."""
    corpus = planter.corpus
    folders = planter.folders(max(1, count // 25), depth=8, prefix="n_")
    for number in range(count):
        planter.file(f"{corpus.random.choice(folders)}file_{number:06}.py", corpus.source(1_000))


_GENERATORS: Final[dict[str, tuple[int, Callable[[_Planter], None]]]] = {
    "src2k": (1, _src2k),
    "prune": (2, _prune),
    "prune-bare": (2, _prune_bare),
    "big": (3, _big),
    "deep": (4, _deep),
    "many": (5, _many),
}
TREES: Final = tuple(_GENERATORS)


def tree(folder: Path, name: str) -> Path:
    """Return a tree below the folder, made when it is not there.

    Args:
        folder: Of all trees.
        name: One of `TREES`, or `grow-N` for one like `many` with N files.
    """
    root, marker = folder / name, folder / f"{name}.complete"
    stamp = f"{_VERSION} {platform.python_version()}"
    if marker.is_file() and marker.read_text(encoding="utf-8") == stamp:
        return root
    marker.unlink(missing_ok=True)
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    if name.startswith(_GROWTH):
        _many(_Planter(root, 6), int(name.removeprefix(_GROWTH)))
    else:
        seed, plant = _GENERATORS[name]
        plant(_Planter(root, seed))
    marker.write_text(stamp, encoding="utf-8")
    return root


def growth(size: int) -> str:
    """Return the name of the tree with so many files.

    >>> growth(100)
    'grow-100'
    """
    return f"{_GROWTH}{size}"
