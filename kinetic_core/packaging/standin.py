"""The `__getattr__` of a module that travelled by value: what stayed behind is imported from the workspace."""

from types import CodeType, FunctionType, ModuleType
from typing import Any


def standin_getattr(module: ModuleType) -> FunctionType:
    """Return a function that belongs to the module as if the module had defined it.

    Its globals are the module's own, so that it travels with them and needs nothing but the standard library.
    """
    code: CodeType = _import_on_demand.__code__.replace(
        co_filename="<kinetic>", co_name="__getattr__", co_qualname="__getattr__"
    )
    made = FunctionType(code, vars(module), "__getattr__")
    made.__module__ = module.__name__
    return made


def _import_on_demand(name: str) -> Any:  # pragma: no cover - it runs under another file's name
    import importlib
    import importlib.util

    if name[:2] == "__":
        # Protocols that are asked for by name: an import would be a surprise.
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    try:
        real = importlib.import_module(__name__)
    except ImportError as error:
        raise AttributeError(
            f"module {__name__!r} travelled without {name!r}, and cannot be imported here: {error}", name=name
        ) from error
    if vars(real) is globals():
        raise AttributeError(f"module {__name__!r} travelled without {name!r}", name=name)
    if name in vars(real):
        return vars(real)[name]
    submodule = f"{__name__}.{name}"
    if hasattr(real, "__path__") and importlib.util.find_spec(submodule):
        return importlib.import_module(submodule)
    return getattr(real, name)
