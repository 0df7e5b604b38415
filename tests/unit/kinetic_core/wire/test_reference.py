"""References: what stands in for a `Data`, and what only looks like it."""

from collections import OrderedDict
from typing import Any

import pytest

from kinetic_core.wire.reference import Reference, as_reference

SHAPE: dict[str, Any] = {
    "__data_ref__": True,
    "uri": "gs://b/d/",
    "is_dir": True,
    "mount_path": "/mnt",
    "fuse": True,
    "hf_trust_remote_code": True,
}
FULL = Reference(
    uri="gs://b/d/",
    is_dir=True,
    mount_path="/mnt",
    fuse=True,
    hf_trust_remote_code=True,
    id="a1",
    empty_dirs=("e",),
    content_sha256="0a",
)


def test_a_reference_has_the_keys_of_the_contract() -> None:
    assert FULL.to_dict() == {**SHAPE, "id": "a1", "empty_dirs": ["e"], "content_sha256": "0a"}
    assert not {"empty_dirs", "content_sha256"} & Reference(uri="x", is_dir=False).to_dict().keys()


def test_a_reference_comes_back_from_its_dict() -> None:
    assert as_reference(FULL.to_dict(), {"a1"}) == FULL


def test_a_dict_counts_where_its_id_is_known() -> None:
    assert as_reference({**SHAPE, "id": "a1"}, {"a1"}) is not None
    assert as_reference({**SHAPE, "id": "b2"}, {"a1"}) is None
    assert as_reference(SHAPE, {"a1"}) is None
    assert as_reference({**SHAPE, "id": "a1"}, frozenset()) is None


def test_without_a_list_every_dict_of_the_shape_counts() -> None:
    read = as_reference(SHAPE, None)
    assert read is not None
    assert (read.uri, read.mount_path, read.id) == ("gs://b/d/", "/mnt", "")


def test_an_id_that_cannot_be_hashed_is_no_known_one() -> None:
    assert as_reference({**SHAPE, "id": ["a1"]}, {"a1"}) is None


@pytest.mark.parametrize(
    "value",
    [
        {**SHAPE, "__data_ref__": 1},
        {**SHAPE, "uri": None},
        {key: value for key, value in SHAPE.items() if key != "uri"},
        {key: value for key, value in SHAPE.items() if key != "__data_ref__"},
        OrderedDict(SHAPE),
        list(SHAPE),
        "text",
        None,
    ],
)
def test_another_shape_never_counts(value: object) -> None:
    assert as_reference(value, None) is None


def test_keys_that_are_missing_or_malformed_have_their_defaults() -> None:
    read = as_reference({"__data_ref__": True, "uri": "u", "mount_path": 3, "empty_dirs": ["a", 1, "b"]}, None)
    assert read == Reference(uri="u", is_dir=False, empty_dirs=("a", "b"))
    assert as_reference({"__data_ref__": True, "uri": "u", "empty_dirs": "ab"}, None) == Reference(
        uri="u", is_dir=False
    )
