"""`Data`: a file, directory, URL or data set that travels apart from the call."""

import difflib
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

import attrs

from kinetic_core.errors import ConfigError, DataNotFoundError, PackagingError, UsageError
from kinetic_core.findings import Finding, Severity
from kinetic_core.references.hashing import Digest, Hashed, hash_path

LARGE_BYTES: Final = 10 * 1024**3
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(://|::)")
_HUGGING_FACE: Final = "hf://"
_HUGGING_FACE_KEYS: Final = ("split", "config_name", "revision")


@attrs.frozen(kw_only=True)
class HuggingFaceDataset:
    """The parts of `hf://name?split=…&config_name=…&revision=…`."""

    name: str
    split: str | None = None
    config_name: str | None = None
    revision: str | None = None


class Data:
    """Data that a function needs, by path or URL: on the pod the argument is an absolute path.

    Put it anywhere in the arguments, inside lists, tuples and dicts too, or in `volumes`.

    >>> Data("gs://bucket/images/").is_dir, Data("s3://bucket/model.bin").is_dir
    (True, False)
    """

    def __init__(
        self,
        path: "str | os.PathLike[str]",
        fuse: bool = False,  # noqa: FBT001, FBT002 - the signature is part of the contract
        hf_trust_remote_code: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        """Name the data; nothing is read yet.

        Args:
            path: A local file or directory (`~` is expanded), any fsspec URL, or
                `hf://name?split=…&config_name=…&revision=…`. A URL with a trailing `/` is a directory.
            fuse: Mount it on the pod rather than download it, where the backend can.
            hf_trust_remote_code: Let a data set from Hugging Face run its own loading code.

        Raises:
            UsageError: The path is neither text nor a path.
            ConfigError: The path is empty or of no use, or `fuse` is asked for with `hf://`.
            DataNotFoundError: The local path does not exist; the message has it as given and resolved.
        """
        raw: object = os.fspath(path) if isinstance(path, os.PathLike) else path
        if not isinstance(raw, str):
            raise UsageError(f"Data takes a path or a URL, got {path!r} of type {type(path).__name__}")
        if not raw.strip():
            raise ConfigError(f"Data needs a path, got {path!r}")
        if not _can_be_named(raw):
            raise ConfigError(f"Data({raw!r}): nothing can be called so")
        if raw.endswith("://") and raw != _HUGGING_FACE:
            raise ConfigError(f"Data({raw!r}) names nothing: write what lies there, such as {raw}bucket/images/")
        self._fuse = bool(fuse)
        self._hf_trust_remote_code = bool(hf_trust_remote_code)
        self._is_remote = _URL.match(raw) is not None
        self._path = raw if self._is_remote else _existing(raw)
        self._hugging_face = _parse_hugging_face(raw) if raw.startswith(_HUGGING_FACE) else None
        if self._fuse and self._hugging_face is not None:
            raise ConfigError(f"Data({raw!r}, fuse=True): a data set from Hugging Face cannot be mounted; drop fuse")
        self._digest: Digest | None = None
        self._hashed: Hashed | None = None
        self._locks: dict[int, threading.Lock] = {}

    @property
    def path(self) -> str:
        """The URL as given, or the local path made absolute (links not resolved)."""
        return self._path

    @property
    def fuse(self) -> bool:
        """Mounted rather than downloaded."""
        return self._fuse

    @property
    def hf_trust_remote_code(self) -> bool:
        """Whether a data set from Hugging Face may run its own loading code."""
        return self._hf_trust_remote_code

    @property
    def is_remote(self) -> bool:
        """A URL: nothing is uploaded for it."""
        return self._is_remote

    @property
    def is_dir(self) -> bool:
        """A local directory, a URL with a trailing `/`, or a data set."""
        if self._is_remote:
            return self._path.endswith("/") or self._hugging_face is not None
        return Path(self._path).is_dir()

    @property
    def hugging_face(self) -> HuggingFaceDataset | None:
        """The data set that an `hf://` URL names."""
        return self._hugging_face

    @property
    def size_bytes(self) -> int:
        """Size of the local content, in bytes, when its hash was taken."""
        return self._taken().size_bytes

    def content_hash(self) -> str:
        """Return 64 hex digits of SHA-256 over kind, relative paths and contents of local data.

        Taken once for each instance: what the data held then is what it stands for. Threads may ask at once.

        Raises:
            ConfigError: The data is remote.
            DataNotFoundError: It is gone.
            PackagingError: Something in it cannot be read.
        """
        return self._taken().sha256

    def hashed(self, hash_of: Callable[[Path], Hashed] = hash_path) -> Hashed:
        """Return the content hash with what it was made of, file by file; taken once for each instance.

        Args:
            hash_of: Takes the absolute path; may know from an earlier time what did not change.

        Raises:
            ConfigError: The data is remote.
            DataNotFoundError: It is gone.
            PackagingError: Something in it cannot be read, or this is a copy of a `Data` whose content has changed.
        """
        if self._is_remote:
            raise ConfigError(f"{self!r} is remote; only local data has a content hash")
        # One for each process: a fork may be made while another thread holds its parent's.
        with self._locks.setdefault(os.getpid(), threading.Lock()):
            return self._hash(hash_of)

    def _taken(self) -> Digest:
        if self._digest is not None:
            return self._digest
        return self.hashed().digest

    def _hash(self, hash_of: Callable[[Path], Hashed]) -> Hashed:
        if self._hashed is None:
            hashed = hash_of(Path(_existing(self._path)))
            if self._digest not in {None, hashed.digest}:
                raise PackagingError(
                    f"{self!r} changed after its content was hashed: make a new Data once nobody writes to it"
                )
            self._hashed, self._digest = hashed, hashed.digest
        return self._hashed

    def __getstate__(self) -> dict[str, Any]:
        # Rows of a tree are of no use elsewhere.
        return {key: value for key, value in vars(self).items() if key not in {"_locks", "_hashed"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _hashed=None, _locks={})

    def __repr__(self) -> str:
        options = [f"{name}=True" for name in ("fuse", "hf_trust_remote_code") if getattr(self, name)]
        return f"Data({', '.join([repr(self._path), *options])})"


def size_findings(data: Data) -> tuple[Finding, ...]:
    """Warn about local data of more than 10 GB."""
    if data.is_remote or data.size_bytes <= LARGE_BYTES:
        return ()
    return (
        Finding(
            code="data_large",
            severity=Severity.WARNING,
            message=f"{data!r} holds {data.size_bytes / 1024**3:.1f} GB, which is uploaded when it changed",
            remedy="put it into a bucket once and pass Data with its URL",
        ),
    )


def _can_be_named(raw: str) -> bool:
    try:
        return b"\0" not in os.fsencode(raw)
    except UnicodeEncodeError:
        return False


def _existing(raw: str) -> str:
    resolved = Path(_absolute(raw))
    if not resolved.exists():
        what = "a link to nothing" if resolved.is_symlink() else "no such file or directory"
        raise DataNotFoundError(f"Data({raw!r}): {what}: {resolved}")
    if not resolved.is_dir() and not resolved.is_file():
        raise ConfigError(f"Data({raw!r}): {resolved} is neither a file nor a directory")
    return str(resolved)


def _absolute(raw: str) -> str:
    """Return an absolute path without `..`; links stay as they are, but where `..` after one leads elsewhere."""
    # Unlike Path.expanduser, this one leaves `~nobody` alone, which may be a file's name.
    expanded = os.path.expanduser(raw)
    lexical = os.path.abspath(expanded)
    real = os.path.realpath(expanded)
    return lexical if os.path.realpath(lexical) == real else real


def _parse_hugging_face(url: str) -> HuggingFaceDataset:
    name, _, query = url.removeprefix(_HUGGING_FACE).partition("?")
    if not name.strip("/"):
        raise ConfigError(f"Data({url!r}) names no data set; write hf://name?split=train")
    given = dict(parse_qsl(query, keep_blank_values=True))
    for key in given:
        if key not in _HUGGING_FACE_KEYS:
            near = difflib.get_close_matches(key, _HUGGING_FACE_KEYS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(_HUGGING_FACE_KEYS)}"
            raise ConfigError(f"Data({url!r}): unknown parameter {key!r}; {hint}")
    return HuggingFaceDataset(name=name.strip("/"), **{key: value or None for key, value in given.items()})
