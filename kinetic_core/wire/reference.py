"""References: what stands in for a `Data` while a call travels."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

MARKER: Final = "__data_ref__"
ID_KEY: Final = "id"
EMPTY_DIRS_KEY: Final = "empty_dirs"
CONTENT_KEY: Final = "content_sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A `Data` on its way to the pod: where its bytes lie and how they are to appear."""

    uri: str
    """Where the bytes lie: a URL of the store, or `cache:<hash>` while they are not staged."""
    is_dir: bool
    mount_path: str | None = None
    """Absolute path at which the pod shows it, for volumes."""
    fuse: bool = False
    """Mounted by the backend rather than downloaded."""
    hf_trust_remote_code: bool = False
    id: str = ""
    """Random, so that a user's own dict of the same shape is told apart."""
    empty_dirs: tuple[str, ...] = ()
    """Empty directories of a directory, relative to it: stores keep objects only."""
    content_sha256: str = ""
    """The content hash that it must have; empty where nobody knows, as for a URL of the user's."""

    def to_dict(self) -> dict[str, Any]:
        """Return the dict that travels in the payload."""
        made: dict[str, Any] = {
            MARKER: True,
            "uri": self.uri,
            "is_dir": self.is_dir,
            "mount_path": self.mount_path,
            "fuse": self.fuse,
            "hf_trust_remote_code": self.hf_trust_remote_code,
            ID_KEY: self.id,
        }
        if self.empty_dirs:
            made[EMPTY_DIRS_KEY] = list(self.empty_dirs)
        if self.content_sha256:
            made[CONTENT_KEY] = self.content_sha256
        return made


def as_reference(value: object, known_ids: AbstractSet[str] | None) -> Reference | None:
    """Return the reference that a dict from a payload stands for, or `None` when it is a user's own.

    Args:
        value: Anything found in the arguments.
        known_ids: The payload's `data_ref_ids`; `None` when it has no such list, and then every dict
            of the shape counts, as in the Kinetic 0.0.x runner.

    >>> as_reference({"__data_ref__": True, "uri": "file:///d", "is_dir": True}, None).uri
    'file:///d'
    >>> as_reference({"__data_ref__": True, "uri": "file:///d", "is_dir": True}, frozenset()) is None
    True
    """
    if type(value) is not dict or value.get(MARKER) is not True or not isinstance(value.get("uri"), str):
        return None
    own_id = value.get(ID_KEY, "")
    if known_ids is not None and not (isinstance(own_id, str) and own_id in known_ids):
        return None
    mount_path = value.get("mount_path")
    return Reference(
        uri=value["uri"],
        is_dir=bool(value.get("is_dir")),
        mount_path=mount_path if isinstance(mount_path, str) else None,
        fuse=bool(value.get("fuse")),
        hf_trust_remote_code=bool(value.get("hf_trust_remote_code")),
        id=str(own_id),
        empty_dirs=_texts(value.get(EMPTY_DIRS_KEY)),
        content_sha256=str(value.get(CONTENT_KEY) or ""),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list | tuple) else ()
