"""Where a test keeps a store."""

from typing import Protocol

import attrs

from kinetic_core.plugin import DriverContext, Storage, StorageDriver


class Place(Protocol):
    """A place for one store, empty at first, that can be opened more than once."""

    @property
    def url(self) -> str:
        """URL of the store, without a trailing slash."""

    def open(self, url: str | None = None) -> Storage:
        """Open the store there, or another one that the same driver knows, afresh."""


@attrs.frozen(kw_only=True)
class StorePlace:
    """A place whose store a driver opens."""

    url: str
    driver: StorageDriver
    context: DriverContext

    def open(self, url: str | None = None) -> Storage:
        """Open the store there, or another one, afresh."""
        return self.driver.open(url or self.url, self.context)
