"""Volumes: buckets mounted by the Cloud Storage FUSE driver, and room for what the runner downloads."""

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.wire.reference import Reference, as_reference
from kinetic_gke.manifest.command import RUNNER_FOLDER

_ANNOTATION: Final = "gke-gcsfuse/volumes"
_DRIVER: Final = "gcsfuse.csi.storage.gke.io"
_RUNNER: Final = "runner"
_OF_THE_IMAGE: Final = frozenset(
    f"/{name}"
    for name in ("bin", "etc", "kinetic", "lib", "lib64", "opt", "sbin", "usr", "usr/bin", "usr/lib", "usr/local")
)


@attrs.frozen(kw_only=True)
class Volumes:
    """A pod's volumes, where its worker sees them, and what tells the driver to look at the pod."""

    volumes: tuple[Mapping[str, Any], ...] = ()
    mounts: tuple[Mapping[str, Any], ...] = ()
    annotations: Mapping[str, str] = attrs.field(factory=dict)


def runner_mount(*, read_only: bool) -> dict[str, Any]:
    """Return the mount of the folder that the runner is brought in."""
    return {"name": _RUNNER, "mountPath": RUNNER_FOLDER, **({"readOnly": True} if read_only else {})}


def pod_volumes(raw: Iterable[Mapping[str, Any]], *, brings_runner: bool) -> Volumes:
    """Return everything that a pod mounts.

    Args:
        raw: Reference dicts with a `mount_path`, as in a job spec.
        brings_runner: An init container puts the runner into a volume.

    Raises:
        ConfigError: Something cannot be mounted, or two things would be at one path.

    >>> data = {"__data_ref__": True, "uri": "gs://b/sets/one/", "is_dir": True, "fuse": True, "mount_path": "/data"}
    >>> pod_volumes([data], brings_runner=False).volumes[0]["csi"]["volumeAttributes"]["mountOptions"]
    'implicit-dirs,only-dir=sets/one'
    """
    volumes = [{"name": _RUNNER, "emptyDir": {}}] if brings_runner else []
    mounts = [runner_mount(read_only=True)] if brings_runner else []
    annotations = {}
    for number, reference in enumerate(_references(raw)):
        name = f"data-{number}"
        if reference.fuse:
            bucket, path, mount = _place(reference)
            volumes.append({"name": name, "csi": _bucket(bucket, path)})
            mounts.append({"name": name, "mountPath": mount, "readOnly": True})
            annotations[_ANNOTATION] = "true"
        elif reference.is_dir:
            # Whoever the image runs as may write there, and nowhere near it.
            volumes.append({"name": name, "emptyDir": {}})
            mounts.append({"name": name, "mountPath": _normal(reference)})
    _refuse_unusable(mounts)
    return Volumes(volumes=tuple(volumes), mounts=tuple(mounts), annotations=annotations)


def _references(raw: Iterable[Mapping[str, Any]]) -> Iterable[Reference]:
    return (reference for one in raw if (reference := as_reference(dict(one), None)) and reference.mount_path)


def _normal(reference: Reference) -> str:
    return f"/{posixpath.normpath(reference.mount_path or '').lstrip('/')}"


def _place(reference: Reference) -> tuple[str, str, str]:
    """Return bucket, directory in it and mount path; a single file comes with the directory that it lies in."""
    scheme, separator, rest = reference.uri.partition("://")
    bucket, _, path = rest.strip("/").partition("/")
    mount = _normal(reference)
    if scheme != "gs" or not separator or not bucket:
        raise ConfigError(
            f"volume {mount!r}: only gs:// can be mounted, and {reference.uri!r} is elsewhere; drop fuse, "
            "and the pod downloads it"
        )
    if path and not reference.is_dir:
        folder, _, name = path.rpartition("/")
        if posixpath.basename(mount) != name or posixpath.dirname(mount) == "/":
            raise ConfigError(
                f"volume {mount!r}: {reference.uri!r} is mounted with the directory it lies in, so the mount path must "
                f"end in {name!r}, below a directory of its own, such as '/data/{name}'; end the URL with '/' where it "
                "is a directory itself, or drop fuse"
            )
        path, mount = folder, posixpath.dirname(mount)
    if "," in path:
        raise ConfigError(f"volume {mount!r}: a directory with a comma, {path!r}, cannot be mounted; drop fuse")
    return bucket, path, mount


def _bucket(bucket: str, path: str) -> dict[str, Any]:
    options = f"implicit-dirs,only-dir={path}" if path else "implicit-dirs"
    return {
        "driver": _DRIVER,
        "readOnly": True,
        "volumeAttributes": {"bucketName": bucket, "mountOptions": options},
    }


def _refuse_unusable(mounts: Iterable[Mapping[str, Any]]) -> None:
    seen: set[str] = set()
    for mount in mounts:
        path = mount["mountPath"]
        if path in _OF_THE_IMAGE:
            raise ConfigError(
                f"a volume at {path!r} would hide what the image has there; choose another, such as '/data'"
            )
        if path in seen:
            raise ConfigError(f"two volumes would be mounted at {path!r}; give each a path of its own")
        seen.add(path)
