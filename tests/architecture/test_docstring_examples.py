"""The examples in docstrings do what they show."""

import doctest
import importlib
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES, module_name, python_files

WITH_EXAMPLES = [path for path in python_files(*PACKAGES) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=module_name)
def test_the_examples_of_a_module_hold(path: Path) -> None:
    module = importlib.import_module(module_name(path))
    failed, attempted = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert attempted > 0
    assert failed == 0
