"""Failures of a store, told in this project's words."""

from collections.abc import Iterator
from contextlib import contextmanager

from kinetic_core.errors import KineticError, ObjectNotFoundError, StorageError


@contextmanager
def translated(operation: str, where: str) -> Iterator[None]:
    """Turn a foreign error into a `StorageError` that names the operation and the object.

    Args:
        operation: A verb, such as `read`.
        where: URL of the object.

    Raises:
        ObjectNotFoundError: The object, or a folder on the way to it, is absent.
        StorageError: Anything else failed.

    >>> with translated("read", "file:///store/key"):
    ...     raise PermissionError(13, "Permission denied")
    Traceback (most recent call last):
    kinetic_core.errors.StorageError: cannot read file:///store/key: Permission denied
    """
    try:
        yield
    except KineticError:
        raise
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise ObjectNotFoundError(f"cannot {operation} {where}: the store holds no such object") from error
    except Exception as error:
        raise _failure(operation, where, error) from error


@contextmanager
def unwritten(where: str) -> Iterator[None]:
    """Turn an error of the operating system while writing into a `StorageError`; there, absence is no answer.

    Args:
        where: URL of the object.

    Raises:
        StorageError: It could not be written.
    """
    try:
        yield
    except KineticError:
        raise
    except OSError as error:
        raise _failure("write", where, error) from error


def _failure(operation: str, where: str, error: Exception) -> StorageError:
    return StorageError(f"cannot {operation} {where}: {_why(error)}")


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"
