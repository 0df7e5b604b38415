"""Sizes, mocks and public names: what the style guide asks of every file."""

import ast
import importlib
from pathlib import Path

import pytest

from tests.architecture.source import EVERYWHERE, PACKAGES, ROOT, imported_names, module_name, parse, python_files

LINES_IN_A_FILE = 400
LINES_IN_A_FUNCTION = 50
Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in python_files(*EVERYWHERE)}
    assert lengths
    assert {path: length for path, length in lengths.items() if length > LINES_IN_A_FILE} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    too_long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {body_lines(node)} lines"
        for path in python_files(*EVERYWHERE)
        for node in ast.walk(parse(path))
        if isinstance(node, Function) and body_lines(node) > LINES_IN_A_FUNCTION
    ]
    assert too_long == []


def body_lines(function: Function) -> int:
    """Count the lines of the body, the docstring apart."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if not body:
        return 0
    end = body[-1].end_lineno
    assert end is not None
    return end - body[0].lineno + 1


def test_a_function_of_fifty_one_lines_would_be_found() -> None:
    source = "def long():\n    '''Docstring.'''\n" + "    pass\n" * 51
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert body_lines(function) == 51


def test_no_test_uses_mocks() -> None:
    mocking = [
        (str(path.relative_to(ROOT)), name)
        for path in python_files(ROOT / "tests", *PACKAGES)
        for name in imported_names(parse(path))
        if name.startswith(("unittest.mock", "mock", "pytest_mock"))
    ]
    assert mocking == []


def with_public_names() -> list[Path]:
    """Return the modules that declare `__all__`."""
    return [
        path
        for path in python_files(*PACKAGES)
        if any(isinstance(node, ast.Assign | ast.AnnAssign) and declares_all(node) for node in parse(path).body)
    ]


def declares_all(node: ast.Assign | ast.AnnAssign) -> bool:
    """Tell whether the statement assigns `__all__`."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


@pytest.mark.parametrize("path", with_public_names(), ids=module_name)
def test_every_public_name_is_there_once(path: Path) -> None:
    module = importlib.import_module(module_name(path))
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_is_marked_as_typed(package: Path) -> None:
    assert (package / "py.typed").is_file()
