"""`FILE:FUNCTION`: load a file as `python FILE` would, but under its module name, and find the function in it.

Nothing below `if __name__ == "__main__":` runs.
"""

import ast
import contextlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs

from kinetic.api.callable import RemoteCallable
from kinetic.profiles import did_you_mean
from kinetic.submission.refusal import submissions_refused
from kinetic_core.errors import KineticError, PackagingError, UsageError
from kinetic_core.model.request import RunOptions
from kinetic_core.packaging.callables import refuse

_SHOWN: Final = 8


@attrs.frozen(kw_only=True)
class Target:
    """A function on the command line, with the call that was given for it."""

    name: str
    """As on the command line."""
    function: Callable[..., Any]
    """The plain function."""
    options: RunOptions
    """As decorated; the defaults for a plain function."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = attrs.field(factory=dict)
    is_call: bool
    """Arguments were given, or none are needed; else the function alone is meant."""


def load_target(file_function: str, args: str | None = None, kwargs: str | None = None) -> Target:
    """Load the file and find the function.

    Raises:
        UsageError: No such file or function, or arguments that are no JSON.
        PackagingError: The file's own code failed while it was loaded.
    """
    file, separator, name = file_function.rpartition(":")
    if not separator or not file or not name:
        raise UsageError(f"write FILE:FUNCTION, such as train.py:train; got {file_function!r}")
    positional, keywords = _json(args, list, "--args", "array"), _json(kwargs, dict, "--kwargs", "object")
    found = _find(load_file(_existing(file)), name, file)
    if isinstance(found, RemoteCallable):
        function, options = found.function, found.run_options
    else:
        refuse(found)
        function, options = found, RunOptions()
    return Target(
        name=file_function,
        function=function,
        options=options,
        args=tuple(positional or ()),
        kwargs=dict(keywords or {}),
        is_call=positional is not None or keywords is not None or _takes_no_arguments(function),
    )


def load_file(path: Path) -> ModuleType:
    """Execute a file under its module name, with its directory first on `sys.path`.

    A file inside a package is loaded as the package's module, so its relative imports work. What it prints goes
    to stderr.

    Raises:
        PackagingError: The file's own code failed, or called a function that runs elsewhere.
    """
    package = _package_of(path)
    if not sys.flags.safe_path:
        # Where this program itself was started from is nothing to the user's file.
        del sys.path[0]
    if package:
        sys.path.insert(0, str(path.parents[len(package)]))
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    try:
        # What the file prints is not this program's answer, which may be JSON.
        refused = submissions_refused(f"{path.name} calls a function that runs elsewhere while it is loaded")
        with refused, contextlib.redirect_stdout(sys.stderr):
            return _import_from_package(path, package) or _execute(path)
    except KineticError as error:
        raise PackagingError(f"cannot load {path}: {error}") from error
    except (Exception, SystemExit) as error:
        raise PackagingError(f"cannot load {path}, its own code failed:\n{_users_traceback(error)}") from error


def _json(text: str | None, kind: type, option: str, name: str) -> Any:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{option} must be a JSON {name}, got {text!r} ({error})") from error
    if not isinstance(value, kind):
        raise UsageError(f"{option} must be a JSON {name}, got {text!r}")
    return value


def _existing(file: str) -> Path:
    # Absolute, but links as the user spells them: so does the interpreter with a script.
    path = Path.cwd() / Path(file).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise UsageError(f"{file} is a directory; name a file in it, such as {Path(file) / 'train.py'}:FUNCTION")
    raise UsageError(f"no file {file}.{_nearest(path, file)}")


def _nearest(path: Path, file: str) -> str:
    # As the name of a module is written.
    meant = next((name for name in (f"{file}.py", f"{file.replace('.', '/')}.py") if Path(name).is_file()), None)
    if meant is not None:
        return f" Did you mean {meant!r}?"
    return did_you_mean(path.name, [entry.name for entry in path.parent.glob("*.py")] if path.parent.is_dir() else [])


def _package_of(path: Path) -> tuple[str, ...]:
    """Return the names of the packages that the file lies in, outermost first; none for a plain script."""
    if path.suffix != ".py" or not path.stem.isidentifier():
        return ()
    names: list[str] = []
    directory = path.parent
    while (directory / "__init__.py").is_file() and directory.name.isidentifier():
        names.insert(0, directory.name)
        directory = directory.parent
    return tuple(names)


def _import_from_package(path: Path, package: Sequence[str]) -> ModuleType | None:
    if not package:
        return None
    name = ".".join(package if path.stem == "__init__" else (*package, path.stem))
    module = importlib.import_module(name)
    # Another package of that name may have been imported before: then the file is loaded by itself.
    loaded = getattr(module, "__file__", None)
    return module if loaded and Path(loaded).resolve() == path.resolve() else None


def _execute(path: Path) -> ModuleType:
    name = path.stem.replace(".", "_")
    if name in sys.modules or name in sys.stdlib_module_names:
        name = f"{name}_script"
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise UsageError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def _users_traceback(error: BaseException) -> str:
    """Return the traceback from the user's file on: what this program did before is no news."""
    ours = Path(__file__).parent.parent
    summary = traceback.TracebackException.from_exception(error)
    kept = [
        frame
        for frame in summary.stack
        if not frame.filename.startswith("<frozen importlib") and ours not in Path(frame.filename).parents
    ]
    while kept and "importlib" in Path(kept[0].filename).parts:
        del kept[0]
    summary.stack = traceback.StackSummary.from_list(kept)
    return "".join(summary.format()).rstrip()


def _find(module: ModuleType, name: str, file: str) -> Any:
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            mine = _own_functions(found, module)
            listed = f" It defines: {', '.join(mine[:_SHOWN])}" if mine else ""
            elsewhere = _defined_deeper(module, name) or did_you_mean(part, mine)
            raise UsageError(f"{file} has no function {name!r}.{elsewhere}{listed}") from None
    if not callable(found):
        raise UsageError(f"{name!r} in {file} is no function but {found!r} of type {type(found).__name__}")
    return found


def _defined_deeper(module: ModuleType, name: str) -> str:
    """Say where the file defines a function of that name all the same; empty where it does not."""
    try:
        tree = ast.parse(Path(module.__file__ or "").read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ""
    for outer in tree.body:
        for node in ast.walk(outer):
            if node is outer or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name != name:
                continue
            if isinstance(outer, ast.ClassDef):
                return f" Did you mean {f'{outer.name}.{name}'!r}?" if node in outer.body else ""
            return (
                f" Line {node.lineno} defines it, but not at the top level of the file, where it would be found:"
                ' nothing below `if __name__ == "__main__":` runs.'
            )
    return ""


def _own_functions(owner: Any, module: ModuleType) -> list[str]:
    members: dict[str, Any] = getattr(owner, "__dict__", {})
    return [
        name
        for name, value in members.items()
        if callable(value)
        and not isinstance(value, type)
        and not name.startswith("__")
        and getattr(value, "__module__", None) == module.__name__
    ]


def _takes_no_arguments(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True
