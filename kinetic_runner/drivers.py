"""Opening stores' drivers: configured as fsspec is, shared with nobody, and each request tried once: we try again."""

import functools
import io
import json
import os
import types
from pathlib import Path
from typing import Any, Final

from kinetic_core.wire.loopthread import LoopThread
from kinetic_runner.integrity import compare_file

_EXTRAS: Final = {"gs": "gcs", "gcs": "gcs", "s3": "s3", "s3a": "s3", "abfs": "azure", "abfss": "azure", "az": "azure"}
_CONNECTING_S: Final = 10
_STALLED_S: Final = 30
_SMALL_BYTES: Final = 16 << 20
_SLOWEST: Final = 32 << 10
"""Bytes a second that a store must take: drivers wait for ever for one that takes no more."""


def open_url(uri: str) -> tuple[Any, str]:
    """Return the fsspec file system for a URI, and the path in it.

    Raises:
        ImportError: fsspec or the driver is not installed; says what to install.
    """
    scheme = uri.partition("://")[0]
    try:
        kind = _kind(scheme)
    except ImportError as error:
        extra = _EXTRAS.get(scheme)
        hint = f"kinetic-run[{extra}]" if extra else "fsspec and its driver for it"
        raise ImportError(f"{scheme}:// needs a driver that this image lacks ({error}): install {hint}") from error
    system = _system(kind, scheme, frozenset(kind._get_kwargs_from_urls(uri).items()))  # noqa: SLF001 - as fsspec itself does
    return system, system._strip_protocol(uri)  # noqa: SLF001 - fsspec offers no public name for it


def answers_ranges(uri: str) -> bool:
    """Tell whether the driver is asynchronous, and what it asks answers ranges: not every server on the web does."""
    return uri.partition("://")[0] in _EXTRAS


def upload(system: Any, source: Path, path: str) -> None:
    """Store a file under a path, and compare what the store then says of it.

    Raises:
        OSError: As the driver says; or other bytes are stored than were sent; or the store takes no more.
    """
    size_bytes = source.stat().st_size
    own = getattr(system, "kinetic_upload", None)
    if own is not None and size_bytes <= _SMALL_BYTES:
        own(source, path)
    elif system.async_impl:
        _wait(system, system._put_file, os.fspath(source), path, sent_bytes=size_bytes)  # noqa: SLF001 - what put_file waits for, without a limit
    else:
        system.put_file(os.fspath(source), path)
    compare_file(source, system.info(path))


def _kind(scheme: str) -> Any:
    from fsspec import get_filesystem_class

    if _EXTRAS.get(scheme) != "gcs":
        return get_filesystem_class(scheme)
    # What gcsfs registers asks for the bucket's kind by another protocol first, for a minute where that is blocked.
    from gcsfs.core import GCSFileSystem

    return GCSFileSystem


@functools.lru_cache(maxsize=8)
def _system(kind: Any, scheme: str, options: frozenset[tuple[str, Any]]) -> Any:
    told = {"use_listings_cache": False, "skip_instance_cache": True, **dict(options)}
    if scheme in _EXTRAS:
        told["loop"] = _loop_thread().loop
    match _EXTRAS.get(scheme):
        case "gcs":
            return _gcs(kind, told)
        case "s3":
            return _s3(kind, told)
        case "azure":
            return _azure(kind, told)
        case _:
            return kind(**told)


@functools.cache
def _loop_thread() -> LoopThread:
    """Return the thread that clients run on: fsspec's own would be there, and idle, when the function forks."""
    return LoopThread("kinetic-stores")


def _gcs(kind: Any, told: dict[str, Any]) -> Any:
    from aiohttp import ClientTimeout

    system = kind(**told)
    if system.requests_timeout is None:
        system.requests_timeout = ClientTimeout(total=None, sock_connect=_CONNECTING_S, sock_read=_STALLED_S)
    # Without the decorator that tries again.
    system._request = types.MethodType(getattr(kind._request, "__wrapped__", kind._request), system)  # noqa: SLF001 - gcsfs has no public name for it
    system.kinetic_upload = functools.partial(_upload_to_gcs, system)
    return system


def _upload_to_gcs(system: Any, source: Path, path: str) -> None:
    """Send a small object: gcsfs puts always the same line between what it sends, and breaks where data holds it."""
    bucket, _, name = path.partition("/")
    line = os.urandom(16).hex()
    body = (
        f"--{line}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{json.dumps({'name': name})}\r\n"
        f"--{line}\r\nContent-Type: application/octet-stream\r\n\r\n"
    )
    data = body.encode() + source.read_bytes() + f"\r\n--{line}--\r\n".encode()
    _wait(
        system,
        system._request,  # noqa: SLF001 - gcsfs has no public name for it
        "POST",
        f"{system._location}/upload/storage/v1/b/{{}}/o",  # noqa: SLF001 - gcsfs has no public name for it
        bucket,
        uploadType="multipart",
        headers={"Content-Type": f'multipart/related; boundary="{line}"'},
        data=io.BytesIO(data),
        sent_bytes=len(data),
    )


def _wait(system: Any, call: Any, *args: Any, sent_bytes: int, **options: Any) -> None:
    from fsspec.asyn import sync

    sync(system.loop, call, *args, timeout=_STALLED_S + sent_bytes / _SLOWEST, **options)


def _s3(kind: Any, told: dict[str, Any]) -> Any:
    system = kind(**told)
    system.config_kwargs = {
        "connect_timeout": _CONNECTING_S,
        "read_timeout": _STALLED_S,
        **system.config_kwargs,
        "retries": {"total_max_attempts": 1},
    }
    system.retries = 1
    return system


def _azure(kind: Any, told: dict[str, Any]) -> Any:
    system = kind(**told)
    # It takes paths for URLs, and what follows a `?` or a `#` for something else than a name.
    system._strip_protocol = _azure_path  # noqa: SLF001 - fsspec has no public name for it
    pipeline = system.service_client._pipeline  # noqa: SLF001 - adlfs lets nobody say it, or not for every request
    waits = pipeline._transport.connection_config  # noqa: SLF001 - the same
    waits.timeout, waits.read_timeout = _CONNECTING_S, _STALLED_S
    for policy in pipeline._impl_policies:  # noqa: SLF001 - the same
        if hasattr(policy, "total_retries"):
            policy.total_retries = 0
    return system


def _azure_path(path: Any) -> Any:
    """Return container and name.

    >>> _azure_path("abfs://box@account.dfs.core.windows.net/a?b#c"), _azure_path("/box/a/")
    ('box/a?b#c', 'box/a')
    """
    if isinstance(path, list):
        return [_azure_path(one) for one in path]
    place = str(path)
    if "://" in place:
        host, slash, name = place.partition("://")[2].partition("/")
        place = host.partition("@")[0] + slash + name
    return place.strip("/")
