"""URIs of artifacts and data: paths for `file://`, fsspec for all others."""

from pathlib import Path
from typing import Final

_FILE: Final = "file://"


def local_path(uri: str) -> Path | None:
    """Return the path that a `file://` URI or a bare path names, or `None` for a URI of another kind.

    The path is taken as it stands; only where nothing is there, percent escapes are decoded, since some write
    them (`Path.as_uri`) and some do not (stores).

    >>> local_path("file:///data/store/payload.pkl").as_posix()
    '/data/store/payload.pkl'
    >>> local_path("gs://bucket/payload.pkl") is None
    True
    """
    if not uri.startswith(_FILE):
        return None if "://" in uri else Path(uri).absolute()
    text = uri.removeprefix(_FILE)
    text = text.removeprefix("localhost") if text.startswith("localhost/") else text
    path = Path(text).expanduser()
    if "%" not in text or path.exists():
        return path
    from urllib.parse import unquote  # costs 5 ms, for a case that is rare

    decoded = Path(unquote(str(path)))
    # What is yet to be written is not there either way: then its folder tells.
    return decoded if decoded.exists() or (decoded.parent.exists() and not path.parent.exists()) else path


def base_name(uri: str) -> str:
    """Return the last part of a URI, a trailing slash aside.

    >>> base_name("gs://b/cache/0a1b/model.bin"), base_name("gs://b/cache/0a1b/")
    ('model.bin', '0a1b')
    """
    return uri.rstrip("/").rpartition("/")[2]
