"""Getting artifacts: read in place where they are local, downloaded and hashed on the way otherwise."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kinetic_core.wire.digest import HashingWriter, sha256_of_file
from kinetic_runner.drivers import open_url
from kinetic_runner.integrity import Check
from kinetic_runner.log import Log
from kinetic_runner.naming import naming
from kinetic_runner.retry import retried
from kinetic_runner.uris import base_name, local_path

_CHUNK_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """An artifact on a local disk."""

    uri: str
    path: Path
    sha256: str | None
    """Of the bytes at `path`; `None` where nobody asked."""


def fetch(uri: str, directory: Path, *, log: Log, hashed: bool) -> Fetched:
    """Bring one artifact to a local disk, trying again what is transient.

    Args:
        uri: Where it lies; a local file is used where it is and only read to hash it.
        directory: Where to put what has to be downloaded.
        log: Told of retries.
        hashed: Whether anybody will compare the hash.

    Raises:
        OSError: It is absent, refused, or cannot be had after five attempts.
        ImportError: No driver for that kind of URI is installed.
    """
    return retried(f"download of {uri}", lambda: _fetch(uri, directory, hashed=hashed), log=log)


def _fetch(uri: str, directory: Path, *, hashed: bool) -> Fetched:
    local = local_path(uri)
    if local is not None:
        if hashed:
            return Fetched(uri=uri, path=local, sha256=sha256_of_file(local))
        with local.open("rb"):  # absent or unreadable shows here, not phases later
            return Fetched(uri=uri, path=local, sha256=None)
    target = directory / f"{os.urandom(4).hex()}-{base_name(uri)}"
    return Fetched(uri=uri, path=target, sha256=download(uri, target))


def download(uri: str, target: Path) -> str:
    """Download one remote object in chunks and return its SHA-256; an unfinished file is removed.

    Raises:
        OSError: As the driver says; or other bytes came than the store says it holds.
        ImportError: No driver for that kind of URI is installed.
    """
    system, path = open_url(uri)
    try:
        with system.open(path, "rb") as source, target.open("wb") as sink:
            writer, check = HashingWriter(sink), Check(getattr(source, "details", None))
            while chunk := source.read(_CHUNK_BYTES):
                with naming(target):
                    writer.write(chunk)
                check.update(chunk)
            check.compare()
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return writer.hexdigest()
