"""What controllers of sets share: they look at a set when it, or a part that carries its name, has changed."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from tests.fakes.kube.objects import Obj, is_deleted, labels_of
from tests.fakes.kube.store import Change, Key

if TYPE_CHECKING:
    from tests.fakes.kube.manager import Components


class Follower(ABC):
    """Follows sets and their parts."""

    sets: ClassVar[str]
    """Resource of the sets."""
    parts: ClassVar[str]
    """Resource of their parts."""
    label: ClassVar[str]
    """By which a part names its set."""

    def __init__(self, components: "Components") -> None:
        self._store = components.store
        self._touched: dict[Key, None] = {}

    def observe(self, change: Change) -> None:
        """Take note of one step of the history."""
        if change.key.resource == self.sets and change.happening != "DELETED":
            self._touched[change.key] = None
        name = labels_of(change.object).get(self.label)
        if change.key.resource == self.parts and name:
            self._touched[Key(self.sets, change.key.namespace, name)] = None

    def work(self) -> None:
        """Look at every set that something happened to."""
        touched, self._touched = self._touched, {}
        for key in touched:
            found = self._store.get(key)
            if found is not None and not is_deleted(found):
                self._sync(key, found)

    @abstractmethod
    def _sync(self, key: Key, found: Obj) -> None:
        """Bring a set's parts to what it asks for."""
