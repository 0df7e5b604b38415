"""A store in this process that counts what is asked of it, and fails where it is told to."""

from collections.abc import Iterator
from pathlib import Path

import attrs

from kinetic_core.errors import ObjectNotFoundError, StorageError
from kinetic_core.plugin import StoredObject


@attrs.define
class MemoryStorage:
    """Objects by key, each with the time of its change."""

    url: str = "count://store"
    now_s: float = 1e9
    objects: dict[str, tuple[bytes, float]] = attrs.field(factory=dict)
    requests: list[tuple[str, str]] = attrs.field(factory=list)
    put_bytes_total: int = 0
    refused: set[str] = attrs.field(factory=set)
    """Names of methods that this client may not call."""

    def put_file(self, path: Path, key: str) -> None:
        self._asked("put_file", key)
        self._put(path.read_bytes(), key)

    def put_bytes(self, data: bytes, key: str) -> None:
        self._asked("put_bytes", key)
        self._put(data, key)

    def put_if_absent(self, data: bytes, key: str) -> bool:
        self._asked("put_if_absent", key)
        if key in self.objects:
            return False
        self._put(data, key)
        return True

    def get_file(self, key: str, path: Path) -> None:
        path.write_bytes(self.get_bytes(key))

    def get_bytes(self, key: str) -> bytes:
        self._asked("get_bytes", key)
        if key not in self.objects:
            raise ObjectNotFoundError(f"no {key}")
        return self.objects[key][0]

    def exists(self, key: str) -> bool:
        self._asked("exists", key)
        return key in self.objects

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        self._asked("list", prefix)
        for key, (data, modified_s) in sorted(self.objects.items()):
            if key.startswith(f"{prefix}/"):
                yield StoredObject(key=key, size_bytes=len(data), modified_s=modified_s)

    def delete_prefix(self, prefix: str) -> None:
        self._asked("delete_prefix", prefix)
        for key in [key for key in self.objects if key == prefix or key.startswith(f"{prefix}/")]:
            del self.objects[key]

    def url_of(self, key: str) -> str:
        return f"{self.url}/{key}"

    def forget_requests(self) -> None:
        self.requests.clear()
        self.put_bytes_total = 0

    def _asked(self, method: str, key: str) -> None:
        self.requests.append((method, key))
        if method in self.refused:
            raise StorageError(f"403 for {method} {key}")

    def _put(self, data: bytes, key: str) -> None:
        self.put_bytes_total += len(data)
        self.objects[key] = (data, self.now_s)
