"""Failures of a store, told in this project's words."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import attrs

from kinetic_core.errors import KineticError, ObjectNotFoundError, StorageError
from kinetic_fsspec.problems import BUCKET, problem_of

_READING: Final = frozenset(("read", "look up"))
# Compiled when a failure is told of: most processes meet none.
_HIDDEN_OPTION: Final = r"(?i)key|secret|token|passw|cred|sas|connection|auth|sig"
_SIGNED: Final = (
    r"(?i)\b((?:sig|x-amz-signature|x-amz-security-token|x-goog-signature|accountkey|access_token)=)[^&\s;\"']+"
    r"|\b(bearer )[\w.~+/=-]+"
)
_SHORTEST_SECRET: Final = 4


@attrs.frozen
class Masked:
    """Takes what is secret out of a text.

    >>> Masked.of({"key": "AKIA1234", "secret": "hush-hush"})("denied to AKIA1234 with hush-hush")
    'denied to *** with ***'
    >>> Masked()("GET /b/k?sig=abc%2F&se=1")
    'GET /b/k?sig=***&se=1'
    """

    _secrets: tuple[str, ...] = attrs.field(default=(), repr=False)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Masked":
        """Return one that knows the secrets among a driver's options."""
        return cls(tuple(sorted(_secrets(options, inside=False), key=len, reverse=True)))

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return re.sub(_SIGNED, lambda found: f"{found[1] or found[2]}***", text)


def _secrets(value: Any, *, inside: bool) -> Iterator[str]:
    match value:
        case str() if inside and len(value) >= _SHORTEST_SECRET and value != "anon":
            yield value
            yield from (part for part in re.findall(r"(?i)(?:key|signature)=([^;]+)", value) if part)
        case Mapping():
            for name, entry in value.items():
                yield from _secrets(entry, inside=inside or re.search(_HIDDEN_OPTION, str(name)) is not None)
        case list() | tuple():
            for entry in value:
                yield from _secrets(entry, inside=inside)
        case _:
            return


_NOTHING_MASKED: Final = Masked()


@contextmanager
def translated(
    operation: str, where: str, *, attempts: Callable[[], int] = lambda: 1, masked: Masked = _NOTHING_MASKED
) -> Iterator[None]:
    """Turn a foreign error into a `StorageError` that names the operation and the object.

    Args:
        operation: A verb, such as `read`.
        where: URL of the object.
        attempts: How many were made.
        masked: Takes secrets out of the foreign error's text.

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
        if operation not in _READING:
            absent = StorageError(f"cannot {operation} {where}: there is no such bucket or folder")
            absent.problem = BUCKET
            # No part of the sentence: whoever tells of the problem in one of his own says what to do there.
            absent.add_note("create it, or correct the store's URL")
            raise absent from error
        raise ObjectNotFoundError(f"cannot {operation} {where}: the store holds no such object") from error
    except Exception as error:  # noqa: BLE001 - it is raised again, without a cause where that would show a secret
        raise _failure(operation, where, error, attempts(), masked) from _cause(error, masked)


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
        raise _failure("write", where, error, 1, _NOTHING_MASKED) from error


def _failure(operation: str, where: str, error: Exception, attempts: int, masked: Masked) -> StorageError:
    tried = f" (after {attempts} attempts)" if attempts > 1 else ""
    failed = StorageError(f"cannot {operation} {where}{tried}: {masked(_why(error))}")
    failed.problem = problem_of(error)
    return failed


def _cause(error: Exception, masked: Masked) -> Exception | None:
    """Return the error as a cause, unless a traceback would show a secret."""
    shown: BaseException | None = error
    while shown is not None:
        if masked(str(shown)) != str(shown):
            return None
        shown = shown.__cause__ or shown.__context__
    return error


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    # Some libraries spread a refusal over several lines.
    text = ", ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
