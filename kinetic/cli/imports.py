"""Third-party imports of the project's own modules: which distribution, which version, and is it declared."""

import ast
import importlib.metadata
import importlib.util
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs
from packaging.utils import canonicalize_name

from kinetic_core.packaging.requirements import read_lines, requirement_name

_OURS: Final = frozenset(("kinetic", "kinetic_core"))
"""A function travels without them."""
_INSTALLED: Final = frozenset(("site-packages", "dist-packages"))


@attrs.frozen(kw_only=True)
class ThirdPartyImport:
    """One top-level package that the project's modules import."""

    module: str
    distribution: str | None
    """`None` when it is not installed here."""
    version: str | None
    declared: bool | None
    """Whether the dependency file names the distribution; `None` when there is no such file."""
    used_by: tuple[str, ...]
    """Names of the project's modules that import it."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {**attrs.asdict(self), "used_by": list(self.used_by)}


def third_party_imports(
    modules: Iterable[ModuleType], root: Path, dependency_file: Path | None
) -> tuple[ThirdPartyImport, ...]:
    """List what the modules import from outside the project and the standard library, sorted by name.

    Args:
        modules: The project's own modules.
        root: The package root: what lies below it and is not installed is the project's own.
        dependency_file: `requirements.txt` or `pyproject.toml`, when one applies.
    """
    used: dict[str, list[str]] = {}
    for module in modules:
        for name in _imported(module):
            used.setdefault(name, []).append(module.__name__)
    declared = None if dependency_file is None else declared_distributions(dependency_file)
    providers = importlib.metadata.packages_distributions()
    return tuple(
        _describe(name, sorted(set(by)), providers, declared)
        for name, by in sorted(used.items())
        if name not in _OURS and name not in sys.stdlib_module_names and not _is_first_party(name, root)
    )


def declared_distributions(path: Path) -> frozenset[str]:
    """Return the normalised names of the distributions that a dependency file asks for.

    What cannot be read or parsed counts as not declared: the packaging itself reports it.
    """
    try:
        content = path.read_bytes()
        lines = (
            _project_dependencies(content) if path.suffix == ".toml" else [line.text for line in read_lines(content)]
        )
    except (OSError, ValueError):
        return frozenset()
    return frozenset(filter(None, map(requirement_name, lines)))


def _project_dependencies(content: bytes) -> list[str]:
    project = tomllib.loads(content.decode("utf-8-sig")).get("project")
    found = project.get("dependencies") if isinstance(project, dict) else None
    return [line for line in found if isinstance(line, str)] if isinstance(found, list) else []


def _imported(module: ModuleType) -> Iterator[str]:
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py"):
        return
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and _is_for_type_checkers(node.test):
            pending.extend(node.orelse)
            continue
        yield from _names(node)
        pending.extend(ast.iter_child_nodes(node))


def _is_for_type_checkers(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module.partition(".")[0]


def _is_first_party(name: str, root: Path) -> bool:
    real_root = root.resolve()
    below = [place.relative_to(real_root) for place in _places(name) if place.is_relative_to(real_root)]
    return any(not _INSTALLED & set(place.parts) for place in below)


def _places(name: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(location).resolve() for location in spec.submodule_search_locations]
    return [Path(spec.origin).resolve()] if spec.origin else []


def _describe(
    name: str, used_by: Sequence[str], providers: Mapping[str, Sequence[str]], declared: frozenset[str] | None
) -> ThirdPartyImport:
    candidates = list(dict.fromkeys(providers.get(name, ())))
    # Several distributions may share a name such as `google`: one that is declared is the one that is meant.
    candidates.sort(key=lambda candidate: declared is None or canonicalize_name(candidate) not in declared)
    distribution = candidates[0] if candidates else None
    return ThirdPartyImport(
        module=name,
        distribution=distribution,
        version=importlib.metadata.version(distribution) if distribution else None,
        declared=None if declared is None else canonicalize_name(distribution or name) in declared,
        used_by=tuple(used_by),
    )
