"""Opening a store through fsspec: which class, told what, with nothing shared, cached or tried twice."""

import difflib
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from fsspec import available_protocols, get_filesystem_class
from fsspec.config import apply_config

from kinetic_core.errors import ConfigError
from kinetic_core.plugin import DriverContext
from kinetic_fsspec.bucket import Bucket
from kinetic_fsspec.failures import Masked
from kinetic_fsspec.generic import FsspecBucket
from kinetic_fsspec.loops import CONNECTING_S, STALLED_S, own_loop
from kinetic_fsspec.remote import RemoteStorage
from kinetic_fsspec.retries import Policy, Retries

# The listing cache hides what others write, and instances are shared with whoever else uses fsspec here.
_MOST_SAID: Final = 400
_OWN: Final = {"use_listings_cache": False, "skip_instance_cache": True}


def open_gcs(url: str, context: DriverContext, policy: Policy | None = None) -> RemoteStorage:
    """Open `gs://bucket/prefix`."""
    from aiohttp import ClientTimeout
    from gcsfs.core import GCSFileSystem

    from kinetic_fsspec.gcs import GcsBucket

    def make(options: dict[str, Any]) -> Bucket:
        # Its default waits for ever for a peer that has gone.
        quiet = ClientTimeout(total=None, sock_connect=CONNECTING_S, sock_read=STALLED_S)
        return GcsBucket(GCSFileSystem(**{"requests_timeout": quiet, "loop": own_loop()} | options), _place(url))

    return _opened(url, context, policy, GCSFileSystem, make)


def open_s3(url: str, context: DriverContext, policy: Policy | None = None) -> RemoteStorage:
    """Open `s3://bucket/prefix`."""
    from s3fs import S3FileSystem

    from kinetic_fsspec.s3 import S3Bucket

    def make(options: dict[str, Any]) -> Bucket:
        told = {"connect_timeout": CONNECTING_S, "read_timeout": STALLED_S, **options.pop("config_kwargs", {})}
        # What it says of itself otherwise, it puts together anew for each request.
        told.setdefault("user_agent", "kinetic-run")
        told["retries"] = {"total_max_attempts": 1}
        return S3Bucket(S3FileSystem(config_kwargs=told, **{"loop": own_loop()} | options), _place(url))

    return _opened(url, context, policy, S3FileSystem, make)


def open_azure(url: str, context: DriverContext, policy: Policy | None = None) -> RemoteStorage:
    """Open `abfs://container/prefix`, or `abfs://container@account.dfs.core.windows.net/prefix`."""
    from adlfs import AzureBlobFileSystem

    from kinetic_fsspec.azure import AzureBucket

    def make(options: dict[str, Any]) -> Bucket:
        host, _, folder = _place(url).partition("/")
        return AzureBucket(
            AzureBlobFileSystem(**{"loop": own_loop()} | options), f"{host.partition('@')[0]}/{folder}".rstrip("/")
        )

    return _opened(url, context, policy, AzureBlobFileSystem, make)


def open_any(url: str, context: DriverContext, policy: Policy | None = None) -> RemoteStorage:
    """Open a URL of any driver that fsspec finds; nothing is known of what that store promises.

    Raises:
        ConfigError: fsspec knows no such scheme, or its driver lacks a package.
    """
    scheme = url.partition("://")[0]
    try:
        kind = get_filesystem_class(scheme)
    except ValueError as error:
        near = difflib.get_close_matches(scheme, available_protocols(), n=1)
        question = f"; did you mean {near[0]!r}?" if near else "."
        raise ConfigError(
            f"fsspec knows no driver for {scheme}://{question} Install the package that brings it, or use another store"
        ) from error
    except ImportError as error:
        raise ConfigError(f"the store {_shown(url)} cannot be opened: {error}") from error
    context.log.warning(
        "storage_unproven",
        url=_shown(url),
        remedy="use a store at file://, gs://, s3:// or abfs://; of others it is not known whether writes are atomic",
    )

    def make(options: dict[str, Any]) -> Bucket:
        system = kind(**options)
        return FsspecBucket(system, system._strip_protocol(url), threading.RLock(), atomic=False)  # noqa: SLF001 - fsspec has no public name for it

    return _opened(url, context, policy, kind, make)


def remote(url: str, bucket: Bucket, context: DriverContext, policy: Policy | None, masked: Masked) -> RemoteStorage:
    """Return the store on a bucket."""
    retries = Retries(policy=policy or Policy(), log=context.log, masked=masked)
    return RemoteStorage(url=url, bucket=bucket, retries=retries)


def _opened(
    url: str,
    context: DriverContext,
    policy: Policy | None,
    kind: Any,
    make: Callable[[dict[str, Any]], Bucket],
) -> RemoteStorage:
    _refuse_password(url)
    said = _configured(kind, context.storage_options)
    # What fsspec's own configuration says comes first, then the URL, then what was said to us.
    options = apply_config(kind, kind._get_kwargs_from_urls(url) | said)  # noqa: SLF001 - how fsspec itself asks
    masked = Masked.of(options)
    try:
        bucket = make(dict(options) | _OWN)
    except Exception as error:  # noqa: BLE001 - it is raised again, without a cause that may show a secret
        raise ConfigError(
            f"the store {_shown(url)} cannot be opened: {masked(f'{type(error).__name__}: {error}')[:_MOST_SAID]};"
            f" its options are {', '.join(sorted(options)) or 'none'}, from fsspec's configuration, the profile and"
            " KINETIC_STORAGE_OPTIONS"
        ) from None
    return remote(url, bucket, context, policy, masked)


def _configured(kind: Any, options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is said under any name of the driver's."""
    names = (kind.protocol,) if isinstance(kind.protocol, str) else kind.protocol
    return {key: value for name in names for key, value in options.get(name, {}).items()}


def _place(url: str) -> str:
    """Return what stands behind the scheme: a name for a bucket, then exact names, nothing of which is decoded."""
    place = url.partition("://")[2].rstrip("/")
    if not place or place.startswith("/"):
        raise ValueError("it names no bucket")
    return place


def _refuse_password(url: str) -> None:
    user, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    if at and ":" in user:
        raise ConfigError(
            f"the store {_shown(url)} has a password in its URL, which would show in handles and logs:"
            " say it in KINETIC_STORAGE_OPTIONS or in fsspec's configuration"
        )


def _shown(url: str) -> str:
    scheme, _, place = url.partition("://")
    host, slash, path = place.partition("/")
    user, at, host = host.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{host}{slash}{path}"
