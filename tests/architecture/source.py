"""The source files of the checkout, as the architecture tests read them."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = tuple(ROOT / name for name in ("kinetic", "kinetic_core", "kinetic_gke", "kinetic_runner")) + tuple(
    sorted(path.parent for path in ROOT.glob("plugins/*/__init__.py"))
)
EVERYWHERE = (*PACKAGES, ROOT / "benchmarks", ROOT / "tests", ROOT / "examples", ROOT / "docs")


def python_files(*folders: Path) -> list[Path]:
    """Return every module below the folders, sorted."""
    return sorted(path for folder in folders for path in folder.rglob("*.py") if "_build" not in path.parts)


def module_name(path: Path) -> str:
    """Return the import name of a package's module."""
    (package,) = (package for package in PACKAGES if package in path.parents)
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parse(path: Path) -> ast.Module:
    """Return the module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted name of each module that is imported, or from which a name is, anywhere in the tree."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
