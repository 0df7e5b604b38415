"""What a pod mounts."""

from typing import Any

import pytest

from kinetic_core.errors import ConfigError
from kinetic_gke.manifest.volumes import Volumes, pod_volumes
from tests.unit.kinetic_gke.manifests import volume


def mounted(*raw: Any) -> Volumes:
    return pod_volumes(raw, brings_runner=False)


@pytest.mark.parametrize(
    ("uri", "path", "bucket", "options", "mount"),
    [
        ("gs://sets/a/b/", "/data", "sets", "implicit-dirs,only-dir=a/b", "/data"),
        ("gs://sets", "/data/", "sets", "implicit-dirs", "/data"),
        ("gs://sets/", "/data", "sets", "implicit-dirs", "/data"),
        ("gs://w/llm/model.bin", "/weights//model.bin", "w", "implicit-dirs,only-dir=llm", "/weights"),
        ("gs://w/model.bin", "/weights/model.bin", "w", "implicit-dirs", "/weights"),
    ],
)
def test_a_bucket_is_mounted_read_only_from_where_the_data_lies(
    uri: str, path: str, bucket: str, options: str, mount: str
) -> None:
    found = mounted(volume(uri, path, fuse=True))
    (one,) = found.volumes
    assert one["csi"]["driver"] == "gcsfuse.csi.storage.gke.io"
    assert one["csi"]["readOnly"] is True
    assert one["csi"]["volumeAttributes"] == {"bucketName": bucket, "mountOptions": options}
    assert found.mounts == ({"name": "data-0", "mountPath": mount, "readOnly": True},)
    assert found.annotations == {"gke-gcsfuse/volumes": "true"}


def test_what_is_downloaded_gets_room_that_any_user_may_write_to() -> None:
    found = mounted(volume("gs://b/set/", "/data/set", fuse=False), volume("gs://b/t.csv", "/data/t.csv", fuse=False))
    assert found.volumes == ({"name": "data-0", "emptyDir": {}},)
    assert found.mounts == ({"name": "data-0", "mountPath": "/data/set"},)
    assert found.annotations == {}


def test_without_volumes_nothing_is_mounted_but_the_runner_that_is_brought() -> None:
    assert mounted() == Volumes()
    brought = pod_volumes((), brings_runner=True)
    assert brought.mounts == ({"name": "runner", "mountPath": "/kinetic/runner", "readOnly": True},)


@pytest.mark.parametrize(
    ("raw", "hint"),
    [
        ([volume("s3://b/set/", "/data", fuse=True)], "only gs:// can be mounted"),
        ([volume("file:///set/", "/data", fuse=True)], "drop fuse"),
        ([volume("gs://b/llm/model.bin", "/weights/7b.bin", fuse=True)], "end in 'model.bin'"),
        ([volume("gs://b/llm/model.bin", "/model.bin", fuse=True)], "'/data/model.bin'"),
        ([volume("gs://b/a,uid=0/", "/data", fuse=True)], "a directory with a comma"),
        ([volume("gs://b/a/", "/data", fuse=True), volume("gs://b/b/", "/data/", fuse=False)], "two volumes"),
        ([volume("gs://b/a/x", "/w/x", fuse=True), volume("gs://b/b/y", "/w/y", fuse=True)], "'/w'"),
        ([volume("gs://b/a/", "/usr", fuse=False)], "would hide what the image has"),
    ],
)
def test_what_cannot_be_mounted_is_refused(raw: list[Any], hint: str) -> None:
    with pytest.raises(ConfigError, match=hint):
        mounted(*raw)
