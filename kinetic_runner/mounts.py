"""Where volumes are when this pod cannot mount them at their own paths, told to who looked for them there."""

import os
import posixpath
from collections.abc import Mapping
from typing import Any, Final

from kinetic_core.wire.names import ENV_MOUNT_ROOT
from kinetic_core.wire.reference import as_reference

_MARKS: Final = "'\"`:,;()[]"


def displaced(error: Exception, volumes: Any, environ: Mapping[str, str]) -> list[str]:
    """Name the real place of a file that was looked for at or below a volume's mount path.

    Args:
        error: What the function raised.
        volumes: From the payload.
        environ: The pod's.

    >>> volumes = [{"__data_ref__": True, "uri": "file:///s/", "is_dir": True, "mount_path": "/data"}]
    >>> displaced(FileNotFoundError(2, "No such file", "/data/a.csv"), volumes, {"KINETIC_MOUNT_ROOT": "/pod"})
    ["volumes are below $KINETIC_MOUNT_ROOT here, not at their mount paths: '/data/a.csv' is '/pod/data/a.csv'"]
    """
    root = environ.get(ENV_MOUNT_ROOT, "")
    if not root or not isinstance(error, FileNotFoundError):
        return []
    mounts = [_normal(one.mount_path) for one in map(_reference, volumes or ()) if one and one.mount_path]
    for path in map(_normal, _paths(error)):
        if not _is_below(path, root) and any(_is_below(path, mount) for mount in mounts):
            place = f"below ${ENV_MOUNT_ROOT} here, not at their mount paths"
            return [f"volumes are {place}: {path!r} is {root + path!r}"]
    return []


def _reference(volume: Any) -> Any:
    return as_reference(volume, None)


def _paths(error: FileNotFoundError) -> list[str]:
    """Return the absolute paths that the error names; some libraries name them in its text only."""
    named = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    words = named or [word.lstrip(_MARKS).rstrip(f"{_MARKS}.") for word in str(error).split()]
    return [os.path.join(os.getcwd(), word) if named else word for word in words if named or word.startswith("/")]


def _normal(path: str) -> str:
    return f"/{posixpath.normpath(path).lstrip('/')}"


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
