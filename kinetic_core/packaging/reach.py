"""Reach: which attributes of first-party modules a function's code reads, seen without running it."""

import dis
from collections.abc import Iterable, Iterator, Mapping
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, TypeGuard

_VARIABLE_LOADS: Final = frozenset(
    (
        "LOAD_GLOBAL",
        "LOAD_NAME",
        "LOAD_DEREF",
        "LOAD_CLASSDEREF",
        "LOAD_FROM_DICT_OR_DEREF",
        "LOAD_FROM_DICT_OR_GLOBALS",
    )
)
_GLOBAL_OPERATIONS: Final = frozenset(("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"))
_ATTRIBUTE_LOADS: Final = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_BY_NAME: Final = frozenset(("getattr", "hasattr"))
_CALLS: Final = frozenset(("PRECALL", "CALL"))
_CALLED: Final = "()"


def module_reads(function: FunctionType, first_party: Mapping[str, ModuleType]) -> Iterator[tuple[ModuleType, str]]:
    """Yield each first-party module with a name that the function reads from it, also in functions inside it.

    Follows `helpers.f`, `package.module.f` and `getattr(package, "module")`. What it cannot see (a module that
    goes through a local variable, a computed name) is left to the module itself on the pod.

    >>> import json
    >>> [(module.__name__, name) for module, name in module_reads(eval("lambda: json.dumps(1)", {"json": json}),
    ...                                                           {"json": json})]
    [('json', 'dumps')]
    """
    variables = {name: value for name, value in _variables(function) if _is_among(value, first_party)}
    if not variables:
        return
    for name, attributes in _chains(function.__code__, frozenset(variables)):
        module = variables[name]
        for attribute in attributes:
            namespace = namespace_of(module)
            if attribute not in namespace:
                break
            yield module, attribute
            value = namespace[attribute]
            if not _is_among(value, first_party):
                break
            module = value


def is_module(value: object) -> TypeGuard[ModuleType]:
    """Tell whether it is a module. Some objects say so of themselves and are none, such as the `lib` that cffi makes.

    >>> is_module(dis), is_module("dis")
    (True, False)
    """
    return issubclass(type(value), ModuleType)


def namespace_of(module: ModuleType) -> dict[str, Any]:
    """Return what the module holds, around any `__getattribute__`: looking at a lazy module must not load it.

    >>> namespace_of(dis)["__name__"]
    'dis'
    """
    namespace: dict[str, Any] = ModuleType.__getattribute__(module, "__dict__")
    return namespace


def code_inside(code: CodeType) -> Iterator[CodeType]:
    """Yield the code and that of every function, class and comprehension inside it."""
    waiting = [code]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(constant for constant in current.co_consts if isinstance(constant, CodeType))


def closure_values(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the function's closure variables that have a value."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # the variable is not bound yet


def global_values(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the module-level variables that the function's code reads or sets, each once.

    An attribute, an import or a local variable of the same name does not count.
    """
    yield from _bound(function, code_inside(function.__code__))


def class_body_values(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the module-level variables that only the bodies of classes inside the function read, each once.

    >>> def function():
    ...     class Inner:
    ...         path = Final
    >>> [name for name, _ in class_body_values(function) if name == "Final"]
    ['Final']
    """
    # Code of a class body is the one that is not optimized; code right inside it looks into its names first.
    bodies = (
        code
        for code in code_inside(function.__code__)
        if not code.co_flags & CO_OPTIMIZED or "__classdict__" in code.co_freevars
    )
    yield from _bound(function, bodies)


def _bound(function: FunctionType, codes: Iterable[CodeType]) -> Iterator[tuple[str, Any]]:
    namespace = function.__globals__
    named = (name for code in codes if not namespace.keys().isdisjoint(code.co_names) for name in _global_names(code))
    for name in dict.fromkeys(named):
        if name in namespace:
            yield name, namespace[name]


def _global_names(code: CodeType) -> Iterator[str]:
    of_the_body: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_NAME":
            of_the_body.add(instruction.argval)
        elif instruction.opname in _GLOBAL_OPERATIONS or (
            instruction.opname == "LOAD_NAME" and instruction.argval not in of_the_body
        ):
            yield instruction.argval


def _variables(function: FunctionType) -> Iterator[tuple[str, Any]]:
    # More than it reads, as that is cheaper to see: what is read is told by the instructions.
    names = dict.fromkeys(name for code in code_inside(function.__code__) for name in code.co_names)
    yield from ((name, function.__globals__[name]) for name in names if name in function.__globals__)
    yield from closure_values(function)


def _is_among(value: object, modules: Mapping[str, ModuleType]) -> bool:
    return is_module(value) and modules.get(namespace_of(value)["__name__"]) is value


def _chains(code: CodeType, names: frozenset[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each load of one of the variables, with the attributes read off it one after the other."""
    for current in code_inside(code):
        if names.isdisjoint(current.co_names) and names.isdisjoint((*current.co_freevars, *current.co_cellvars)):
            continue
        found: tuple[str, list[str]] | None = None
        previous = None
        for instruction in dis.get_instructions(current):
            if found is not None:
                if instruction.opname in _ATTRIBUTE_LOADS:
                    found[1].append(instruction.argval)
                    continue
                if instruction.opname == "LOAD_CONST" and not found[1] and previous in _BY_NAME:
                    found[1].append(instruction.argval)
                    previous = _CALLED
                    continue
                if instruction.opname in _CALLS and previous is _CALLED:
                    continue
                yield found
                found = None
            if instruction.opname in _VARIABLE_LOADS:
                if instruction.argval in names:
                    found = instruction.argval, []
                else:
                    previous = instruction.argval
