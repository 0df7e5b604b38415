"""What lies in a store, from one listing."""

import bisect
from collections.abc import Iterator, Sequence
from typing import Self

import attrs

from kinetic_core.plugin import Storage, StoredObject


@attrs.frozen
class Inventory:
    """All objects of a store, sorted by key.

    >>> times = {"a": 1.0, "a-b": 3.0, "a/b": 2.0}
    >>> inventory = Inventory([StoredObject(key=key, size_bytes=1, modified_s=at) for key, at in times.items()])
    >>> [one.key for one in inventory.at("a")], inventory.size_bytes("a"), inventory.newest_s("a")
    (['a', 'a/b'], 2, 2.0)
    """

    objects: Sequence[StoredObject]

    @classmethod
    def of(cls, storage: Storage) -> Self:
        """List a store.

        Raises:
            StorageError: The store failed.
        """
        return cls(tuple(sorted(storage.list(), key=lambda found: found.key)))

    def at(self, key: str) -> Iterator[StoredObject]:
        """Yield the object of this key, and those below the folder of that name."""
        for prefix, exact in ((key, True), (f"{key}/", False)):
            start = bisect.bisect_left(self.objects, prefix, key=lambda found: found.key)
            for found in self.objects[start:]:
                if found.key != key if exact else not found.key.startswith(prefix):
                    break
                yield found

    def names(self, folder: str) -> list[str]:
        """Return the names directly below a folder, of objects and of folders; those at the top for the empty one."""
        prefix = f"{folder}/" if folder else ""
        below = (one for one in self.at(folder) if one.key != folder) if folder else self.objects
        found = (one.key.removeprefix(prefix).partition("/")[0] for one in below)
        return list(dict.fromkeys(found))

    def size_bytes(self, *keys: str) -> int:
        """Return what keys and folders of these names take."""
        return sum(found.size_bytes for key in keys for found in self.at(key))

    def newest_s(self, *keys: str) -> float:
        """Return when the latest of them was written; 0 where the store tells no time, or nothing is there."""
        return max((found.modified_s for key in keys for found in self.at(key)), default=0.0)
