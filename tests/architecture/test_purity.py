"""Rule 3: the core takes values and returns values."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, imported_names, module_name, parse, python_files

CORE = python_files(ROOT / "kinetic_core")
MANIFESTS = [*python_files(ROOT / "kinetic_gke/manifest"), ROOT / "kinetic_gke/accelerators.py"]
DIAGNOSIS = python_files(ROOT / "kinetic_gke/diagnosis")
IMAGES = [ROOT / f"kinetic_gke/building/{name}.py" for name in ("order", "recipe", "shelf")]
PURE = [*CORE, *MANIFESTS, *DIAGNOSIS, *IMAGES, ROOT / "kinetic_gke/machines.py"]
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
CONTAINERS = {"dict", "list", "set", "defaultdict", "deque", "OrderedDict", "Counter", "WeakKeyDictionary"}
DATA = "kinetic_core.references.data"  # `Data("~/x")` means the home of whoever writes it, there and then


def reads_of_the_environment(tree: ast.AST) -> Iterator[int]:
    """Yield the line of each use of `os.environ` and its like."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=attr) if attr in ENVIRONMENT:
                yield node.lineno
            case ast.ImportFrom(module="os", names=names) if any(alias.name in ENVIRONMENT for alias in names):
                yield node.lineno


def reads_of_the_home(tree: ast.AST) -> Iterator[int]:
    """Yield the line of each look-up of the home directory, which reads the environment too."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="expanduser" | "expandvars" | "home")):
                yield node.lineno


def module_state(tree: ast.Module) -> Iterator[int]:
    """Yield the line of each `global` statement and of each empty container that a module keeps."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield node.lineno
    for statement in tree.body:
        match statement:
            case ast.Assign(value=value) | ast.AnnAssign(value=value):
                match value:
                    case ast.Dict(keys=[]) | ast.List(elts=[]):
                        yield statement.lineno
                    case ast.Call(func=ast.Name(id=name), args=[]) if name in CONTAINERS:
                        yield statement.lineno


@pytest.mark.parametrize("path", PURE, ids=module_name)
def test_the_core_reads_no_environment_and_no_home(path: Path) -> None:
    tree = parse(path)
    assert list(reads_of_the_environment(tree)) == []
    assert list(reads_of_the_home(tree)) == [] or module_name(path) == DATA


@pytest.mark.parametrize("path", PURE, ids=module_name)
def test_the_core_keeps_no_module_state(path: Path) -> None:
    assert list(module_state(parse(path))) == []


@pytest.mark.parametrize("path", PURE, ids=module_name)
def test_the_core_neither_logs_nor_prints(path: Path) -> None:
    tree = parse(path)
    assert [name for name in imported_names(tree) if name.split(".")[0] in {"logging", "structlog", "warnings"}] == []
    assert [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ] == []


def test_only_settings_reads_the_clients_environment() -> None:
    # The contract kit is no part of the client: it makes what clients and drivers are tested with.
    client = [path for path in python_files(ROOT / "kinetic") if path.parent.name != "testing"]
    readers = {module_name(path) for path in client if list(reads_of_the_environment(parse(path)))}
    assert readers <= {"kinetic.settings"}


@pytest.mark.parametrize("source", ["Path('~').expanduser()", "Path.home()", "os.path.expandvars(x)"])
def test_a_read_of_the_home_would_be_found(source: str) -> None:
    assert list(reads_of_the_home(ast.parse(source)))


@pytest.mark.parametrize(
    "source", ["import os\nos.environ['X']", "import os\nos.getenv('X')", "from os import environ"]
)
def test_a_read_of_the_environment_would_be_found(source: str) -> None:
    assert list(reads_of_the_environment(ast.parse(source)))


@pytest.mark.parametrize(
    "source", ["cache = {}", "cache: dict[str, int] = dict()", "def f():\n    global x\n    x = 1"]
)
def test_module_state_would_be_found(source: str) -> None:
    assert list(module_state(ast.parse(source)))
