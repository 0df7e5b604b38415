"""What importing may load: rule 5, and the promise that `import kinetic` is cheap."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES, module_name, python_files

IMPORT_KINETIC_MAY_LOAD = {"kinetic"}
A_PLUGIN_MODULE_MAY_LOAD = {"attr", "attrs", "kinetic_core", "packaging", "pluggy"}
PLUGIN_MODULES = [module_name(path) for path in python_files(*PACKAGES) if path.name in {"plugin.py", "defaults.py"}]


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules outside the standard library that a fresh interpreter loads for a statement."""
    program = (
        "import json, sys; before = set(sys.modules)\n"
        f"{statement}\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))"
    )
    answered = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = set(json.loads(answered.stdout))
    return {name for name in names if name not in sys.stdlib_module_names and not name.startswith("__editable__")}


def test_import_kinetic_loads_nothing_but_its_own_face() -> None:
    assert loaded_by("import kinetic") <= IMPORT_KINETIC_MAY_LOAD


def test_the_cores_top_package_imports_nothing() -> None:
    assert loaded_by("import kinetic_core") == {"kinetic_core"}


@pytest.mark.parametrize("module", PLUGIN_MODULES)
def test_a_plugin_module_is_cheap(module: str) -> None:
    allowed = A_PLUGIN_MODULE_MAY_LOAD | {module.partition(".")[0]}
    assert loaded_by(f"import {module}") <= allowed


def test_the_built_in_plugins_are_looked_at() -> None:
    assert {"kinetic.defaults", "kinetic_fsspec.plugin", "kinetic_local.plugin"} <= set(PLUGIN_MODULES)


def test_the_tests_interpreter_has_what_must_not_be_loaded() -> None:
    found = Path(sys.prefix)
    assert loaded_by("import fsspec, cloudpickle, structlog") >= {"fsspec", "cloudpickle", "structlog"}, found
