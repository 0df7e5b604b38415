"""Taking away what a search of a store found, while others go on submitting."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import attrs

from kinetic.log import get_logger
from kinetic.submission.garbage import Garbage, Search
from kinetic.submission.inventory import Inventory
from kinetic_core.errors import KineticError
from kinetic_core.plugin import Storage

GRACE_S: Final = 2.0
"""Between the end of a mark and that of what it vouches for: who was about to rely on it renews the mark meanwhile."""


@attrs.frozen(kw_only=True)
class Collection:
    """Removes garbage; what was used again since it was found stays."""

    search: Search
    """That found it."""
    sleep: Callable[[float], None] = time.sleep

    def remove(self, garbage: Sequence[Garbage]) -> list[Garbage]:
        """Remove it and return what went.

        Raises:
            StorageError: The store failed; what it still has, the next collection finds.
        """
        present = Inventory.of(self._storage)
        untouched = [one for one in garbage if present.newest_s(*one.keys) == one.newest_s]
        gone = [one for one in untouched if one.kind in {"job", "batch", "probe"}]
        for one in gone:
            self._forget_resource(one)
            self._delete(one.keys)
        return [*gone, *self._remove_data(untouched), *self._remove_contexts(untouched)]

    @property
    def _storage(self) -> Storage:
        return self.search.storage

    def _remove_data(self, garbage: Sequence[Garbage]) -> list[Garbage]:
        data = [one for one in garbage if one.kind == "data"]
        if not data:
            return []
        for one in data:
            self._storage.delete_prefix(one.keys[0])
        self.sleep(GRACE_S)
        gone = [one for one in data if not self._storage.exists(one.keys[0])]
        for one in gone:
            self._delete(one.keys)
        return gone

    def _remove_contexts(self, garbage: Sequence[Garbage]) -> list[Garbage]:
        """Remove contexts while this client submits nothing; leave them where it does just now."""
        contexts = [one for one in garbage if one.kind == "context"]
        if not contexts:
            return []
        with self.search.uses.alone() as undisturbed:
            if not undisturbed:
                get_logger("kinetic.submission").warning(
                    "contexts_left", message="contexts stay: a submission uses them just now", remedy="ask again later"
                )
                return []
            still = self.search.stale_contexts()
            gone = [one for one in contexts if one.keys[0] in still]
            for one in gone:
                self._delete(one.keys)
        return gone

    def _forget_resource(self, garbage: Garbage) -> None:
        if garbage.ref is None:
            return
        with suppress(KineticError):
            self.search.connection.backend(garbage.ref.backend).cleanup(garbage.ref)

    def _delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._storage.delete_prefix(key)
