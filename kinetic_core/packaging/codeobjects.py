"""Code objects: how compiled code travels, with the name of the file that it came from."""

from types import CodeType
from typing import Any


def reduce_code(code: CodeType) -> tuple[Any, ...]:
    """Reduce a code object."""
    # Unlike cloudpickle's own, this keeps the file name, which leads tracebacks and debuggers to the shipped source.
    # Names and tuples are copied, so that sharing in this process makes no difference to the bytes.
    return CodeType, (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_nlocals,
        code.co_stacksize,
        code.co_flags,
        code.co_code,
        code.co_consts,
        _copied(code.co_names),
        _copied(code.co_varnames),
        "".join(list(code.co_filename)),
        "".join(list(code.co_name)),
        code.co_qualname,
        code.co_firstlineno,
        code.co_linetable,
        code.co_exceptiontable,
        _copied(code.co_freevars),
        _copied(code.co_cellvars),
    )


def _copied(of: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in of)
