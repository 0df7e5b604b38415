"""Failed writes that say of which file: the system's own error names none, once a file is open."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error of the system name the file, where it names none.

    Args:
        path: The file that is written within this.

    >>> try:
    ...     with naming(Path("/disk/file")):
    ...         raise OSError(28, "No space left on device")
    ... except OSError as error:
    ...     print(error)
    [Errno 28] No space left on device: '/disk/file'
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise
