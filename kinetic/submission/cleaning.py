"""Keeping what contexts take in the store within bounds: once a day, beside everything else, needed by nobody.

A client cleans among its own contexts by its own list of uses. Of others, which may never come back, it sees to a
sixteenth, chosen anew each time, and removes what nobody can rely on any more: what is older than `LONGEST_S`, since
a client uploads again what is half as old before it relies on it.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import attrs

from kinetic.log import get_logger
from kinetic.submission.sharing import CONTEXTS, FRESH_S
from kinetic.submission.uses import Use, Uses
from kinetic_core.plugin import Storage, StoredObject
from kinetic_core.wire.names import CONTEXT_FILE

LONGEST_S: Final = 2 * FRESH_S
_SETTLED_S: Final = 6 * 3_600
"""What is younger may be part of a submission still under way, perhaps from a machine with the same name."""
_ENDED_S: Final = 86_400
"""A job that wrote a result may be tried again for so long: what was written may tell of a preemption."""


@attrs.frozen(kw_only=True)
class Bounds:
    """What one client's contexts may take in one store; what live jobs need comes on top."""

    bases: int = 32
    layers: int = 64
    """Of one base."""
    size_bytes: int = 4 << 30
    uses: int = 5_000
    """How many are remembered."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Cleaning:
    """One cleaning."""

    storage: Storage
    client: str
    uses: Uses
    bounds: Bounds = Bounds()
    longest_s: float = LONGEST_S
    """What was not used for so long goes in any case."""
    now_s: float = attrs.field(factory=time.time)
    choose: Callable[[str], str] = random.choice

    def run(self) -> None:
        """Clean as far as the store allows; a failure waits for the next time."""
        try:
            self.clean_own()
            self.clean_others()
        except Exception as error:  # noqa: BLE001 - whatever it is, no job depends on it
            log = get_logger("kinetic.submission")
            log.debug("contexts_not_cleaned", store=self.storage.url, error=repr(error))

    def clean_own(self) -> None:
        """Remove the contexts of this client that are beyond the bounds and that no live job needs.

        Submissions are kept away only while something is removed, and the list of uses is read again then.

        Raises:
            StorageError: The store failed.
            OSError: The list of uses failed.
        """
        bases = self._by_base(f"{CONTEXTS}/{self.client}")
        uses, live = self.uses.read(), dict[str, bool]()
        if not self._surplus(bases, uses, live) and len(self._remembered(uses)) == len(uses):
            return
        with self.uses.alone() as undisturbed:
            if undisturbed:
                uses = self.uses.read()
                for key in self._surplus(bases, uses, live):
                    self.storage.delete_prefix(key)
                    get_logger("kinetic.submission").debug("context_removed", key=key)
                self.uses.replace(self._remembered(uses))

    def surplus(self) -> list[str]:
        """Return the keys of the contexts of this client that `clean_own` would remove.

        Raises:
            StorageError: The store failed.
            OSError: The list of uses failed.
        """
        return self._surplus(self._by_base(f"{CONTEXTS}/{self.client}"), self.uses.read(), {})

    def clean_others(self) -> None:
        """Remove what anybody left below one digit and nobody relies on any more.

        Raises:
            StorageError: The store failed.
        """
        for folder, objects in self._by_base(f"{CONTEXTS}/{self.choose('0123456789abcdef')}").items():
            newest_s = max(found.modified_s for found in objects)
            # A store that tells no time leaves this to each client itself.
            if not folder.startswith(f"{CONTEXTS}/{self.client}/") and 0 < newest_s < self.now_s - LONGEST_S:
                self.storage.delete_prefix(folder)

    def is_live(self, use: Use) -> bool:
        """Tell whether a job may still fetch its context; it costs up to two requests.

        Raises:
            StorageError: The store failed.
        """
        age_s = self.now_s - use.at
        if age_s < _SETTLED_S:
            return True
        if not self._is_recent(use) or not self.storage.exists(f"{use.job_folder}/handle.json"):
            return False
        return age_s < _ENDED_S or not self.storage.exists(use.result)

    def _surplus(
        self, bases: Mapping[str, Sequence[StoredObject]], uses: Sequence[Use], live: dict[str, bool]
    ) -> list[str]:
        """Return the keys of what is to go: folders of bases, and layers.

        Args:
            bases: What lies in the store.
            uses: What jobs need.
            live: Which jobs are, by their folders; filled in. A job that has ended never lives again.
        """
        needed = _Needed(self, uses, live)
        uploaded_at = {folder: max(found.modified_s for found in objects) for folder, objects in bases.items()}
        used_at = dict(uploaded_at)
        for use in uses:
            folder = _folder(use.keys[0])
            used_at[folder] = max(used_at.get(folder, 0.0), use.at)
        surplus, number, size_bytes = [], 0, 0
        for folder in sorted(bases, key=lambda folder: -used_at[folder]):
            number, size_bytes = number + 1, size_bytes + sum(found.size_bytes for found in bases[folder])
            # The one used last stays, however large it is: the next submission would upload it again.
            is_beyond = number > self.bounds.bases or (number > 1 and size_bytes > self.bounds.size_bytes)
            is_beyond = is_beyond and uploaded_at[folder] < self.now_s - _SETTLED_S
            if (is_beyond or self.now_s - used_at[folder] > self.longest_s) and not needed.within(folder):
                surplus.append(folder)
            else:
                surplus += self._surplus_layers(bases[folder], needed)
        return surplus

    def _surplus_layers(self, objects: Iterable[StoredObject], needed: "_Needed") -> list[str]:
        layers = [found for found in objects if not found.key.endswith(f"/{CONTEXT_FILE}")]
        layers.sort(key=lambda found: -found.modified_s)
        return [found.key for found in layers[self.bounds.layers :] if not needed.key(found.key)]

    def _remembered(self, uses: Sequence[Use]) -> Sequence[Use]:
        recent = [use for use in uses if self._is_recent(use)]
        return recent[-self.bounds.uses :]

    def _is_recent(self, use: Use) -> bool:
        return self.now_s - use.at < LONGEST_S

    def _by_base(self, prefix: str) -> dict[str, list[StoredObject]]:
        found: defaultdict[str, list[StoredObject]] = defaultdict(list)
        for stored in self.storage.list(prefix):
            found[_folder(stored.key)].append(stored)
        return found


class _Needed:
    """What live jobs need; each job is asked after once, the latest first, and only when its context is in question."""

    def __init__(self, cleaning: Cleaning, uses: Iterable[Use], live: dict[str, bool]) -> None:
        self._cleaning = cleaning
        self._live = live
        self._folders: defaultdict[str, list[Use]] = defaultdict(list)
        self._keys: defaultdict[str, list[Use]] = defaultdict(list)
        for use in sorted(uses, key=lambda use: -use.at):
            self._folders[_folder(use.keys[0])].append(use)
            for key in use.keys:
                self._keys[key].append(use)

    def within(self, folder: str) -> bool:
        return any(map(self._is_live, self._folders[folder]))

    def key(self, key: str) -> bool:
        return any(map(self._is_live, self._keys[key]))

    def _is_live(self, use: Use) -> bool:
        if use.job_folder not in self._live:
            self._live[use.job_folder] = self._cleaning.is_live(use)
        return self._live[use.job_folder]


def _folder(key: str) -> str:
    return key.rpartition("/")[0]
