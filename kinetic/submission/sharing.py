"""Contexts that jobs share: put into the store once, and after an edit only what the edit changed.

```
<store>/cache/contexts/<digit>/<client>/<sha256 of a base>/context.zip      an archive, whole
                                                           <sha256>.layer   what makes a later archive of it
```

Names are hashes of content, so nothing is ever replaced by something else. All that a submission asks is one listing
of one base's folder; what that does not show, in the right size, counts as vanished and is uploaded again.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from kinetic import settings
from kinetic.log import get_logger
from kinetic.submission.snapshots import SnapshotCache
from kinetic.submission.uses import store_key
from kinetic.transfers import transfer
from kinetic_core.errors import StorageError
from kinetic_core.model.job import StagedArtifact
from kinetic_core.model.package import Artifact
from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.composition import DEFAULT_LIMITS, Composition, Limits
from kinetic_core.plugin import Storage, StoredObject
from kinetic_core.wire.names import CONTEXT_FILE

CONTEXTS: Final = "cache/contexts"
FRESH_S: Final = 15 * 86_400
"""What is older is uploaded again before a job relies on it: anybody may remove what is twice as old."""
_LAYER_FILE: Final = "context.layer"


@attrs.frozen(kw_only=True)
class SharedContext:
    """A context in the store that other jobs may use too."""

    staged: StagedArtifact
    folder: str
    """Key of the base's folder."""
    keys: tuple[str, ...]
    """Of the objects that make it."""


def client_of(surroundings: Surroundings) -> str:
    """Return what this client's part of the contexts is called.

    >>> from pathlib import Path
    >>> here = Surroundings(environ={"USER": "ada"}, home=Path("/h"), cwd=Path("/"), sys_path=())
    >>> client_of(here).partition("-")[0][2:]
    'ada'
    """
    folder = settings.store_folder(surroundings)
    # The digit, as good as random, lets everybody see to a sixteenth of what others left.
    return f"{folder[-1]}/{folder}"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Sharing:
    """One client's contexts in one store."""

    storage: Storage
    client: str
    """As `client_of` returns it."""
    cache: SnapshotCache
    limits: Limits = DEFAULT_LIMITS

    def share(self, archive: Artifact, root: Path, entries: int, directory: Path) -> SharedContext:
        """Make sure that the store has what makes an archive, and upload what it lacks.

        Args:
            archive: The context.
            root: The package root.
            entries: How many the archive has besides the plan.
            directory: Where a layer can be written.

        Raises:
            StorageError: The store failed.
        """
        store = store_key(self.storage, self.client)
        compositions = self.cache.compositions(root)
        known = compositions.pop(store, None)
        composition = self._stored(archive, known, entries, directory)
        if composition != known:
            self.cache.keep_compositions(root, {**compositions, store: composition})
        keys = tuple(f"{self._folder(composition)}/{source.name}" for source in composition.sources)
        url, *layers = map(self.storage.url_of, keys)
        staged = StagedArtifact(url=url, sha256=archive.sha256, size_bytes=archive.size_bytes, layers=tuple(layers))
        return SharedContext(staged=staged, folder=self._folder(composition), keys=keys)

    def _stored(self, archive: Artifact, known: Composition | None, entries: int, directory: Path) -> Composition:
        whole = Composition.whole(archive.sha256, size_bytes=archive.size_bytes, entries=entries)
        is_large = archive.size_bytes > self.limits.saved
        if known is not None and is_large and known.sha256 == archive.sha256 != known.base.sha256:
            present = self._present(known)
            if known.is_stored and len(present) == len(known.sources):
                get_logger("kinetic.submission").debug("context_found", sha256=archive.sha256)
                return known
            layered = self._add_layer(archive, known, present, directory)
            if layered is not None:
                return layered
        if not self._present(whole):
            self._put(archive, f"{self._folder(whole)}/{CONTEXT_FILE}")
        return whole

    def _add_layer(
        self, archive: Artifact, known: Composition, present: Mapping[str, StoredObject], directory: Path
    ) -> Composition | None:
        from kinetic_core.packaging.layering import make_layer  # most submissions make none

        try:
            layer = make_layer(archive, known, directory / _LAYER_FILE, present=present, limits=self.limits)
        except (ValueError, IndexError, OSError) as error:
            get_logger("kinetic.submission").debug("context_not_layered", error=str(error))
            return None
        if layer is None:
            return None
        self._put(layer.artifact, f"{self._folder(layer.composition)}/{layer.composition.sources[-1].name}")
        return layer.composition

    def _present(self, composition: Composition) -> dict[str, StoredObject]:
        """Return which sources are there, whole and not too old; it costs one listing."""
        try:
            listed = {found.key.rpartition("/")[2]: found for found in self.storage.list(self._folder(composition))}
        except StorageError:
            listed = self._looked_up(composition)
        oldest_s = time.time() - FRESH_S
        return {
            source.name: found
            for source in composition.sources
            if (found := listed.get(source.name)) is not None
            and found.size_bytes == source.size_bytes
            # A store that tells no time has none that is too long ago.
            and (found.modified_s > oldest_s or not found.modified_s)
        }

    def _looked_up(self, composition: Composition) -> dict[str, StoredObject]:
        """Ask for each source where listing is refused; what may not be asked for either counts as absent."""
        found = {}
        for source in composition.sources:
            key = f"{self._folder(composition)}/{source.name}"
            try:
                if self.storage.exists(key):
                    found[source.name] = StoredObject(key=key, size_bytes=source.size_bytes)
            except StorageError:
                continue
        return found

    def _put(self, artifact: Artifact, key: str) -> None:
        what = key.rpartition("/")[2]
        with transfer("upload", what, self.storage, size_bytes=artifact.size_bytes) as moving:
            moving.put_file(artifact.path, key)
        get_logger("kinetic.submission").debug("context_uploaded", key=key, size_bytes=artifact.size_bytes)

    def _folder(self, composition: Composition) -> str:
        return f"{CONTEXTS}/{self.client}/{composition.base.sha256}"
