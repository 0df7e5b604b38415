"""Finding the function of a JSON call by its name, in the shipped context."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

# Not `__main__`: a script's own `if __name__ == "__main__":` must not run.
_SCRIPT: Final = "__kinetic_main__"


def find_function(description: Any, workspace: Path) -> Callable[..., Any]:
    """Import the function that a JSON payload names.

    Args:
        description: `{"module": …, "qualname": …, "file": …}`; the file, relative to the root, for a main script.
        workspace: Where the context was extracted.

    Raises:
        ValueError: The description cannot be used.
        ImportError: The module is not there, or fails to import.
        AttributeError: The module has no such function.
    """
    if not isinstance(description, dict) or not isinstance(description.get("qualname"), str):
        raise ValueError(f"the payload describes no function: {description!r}")  # noqa: TRY004 - a bad file, not a bad call
    found: Any = _module(description.get("module"), description.get("file"), workspace)
    for name in description["qualname"].split("."):
        found = getattr(found, name)
    function: Callable[..., Any] = _undecorated(found)
    return function


def _module(name: Any, file: Any, workspace: Path) -> ModuleType:
    if not isinstance(file, str):
        if not isinstance(name, str) or name == "__main__":
            raise ValueError(f"the payload names module {name!r} and no file to find it in")
        return importlib.import_module(name)
    path = (workspace / file).resolve()
    if not path.is_relative_to(workspace.resolve()) or not path.is_file():
        raise FileNotFoundError(f"the script {file!r} is not in the context; is it excluded?")
    spec = importlib.util.spec_from_file_location(_SCRIPT, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"the script {file!r} is no Python file", path=file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[_SCRIPT] = module
    spec.loader.exec_module(module)
    return module


def _undecorated(found: Any) -> Any:
    # The name leads to what `kinetic.run` made of the function; one step inwards is what the user wrote.
    if type(found).__module__.partition(".")[0] == "kinetic" and hasattr(found, "__wrapped__"):
        return found.__wrapped__
    return found
