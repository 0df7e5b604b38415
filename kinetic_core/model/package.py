"""What packaging produced: artifacts on disk, and why they look as they do."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from kinetic_core.findings import Finding
from kinetic_core.model.entry import ArchiveEntries, ArchiveEntry
from kinetic_core.wire.reference import Reference


@attrs.frozen(kw_only=True)
class PackageRoot:
    """The directory whose tree ships, and the trail of why."""

    path: Path
    """Absolute, as the user spells it (links not resolved)."""
    step: str
    """Which step decided: `override`, `marker`, `package` or `entry`."""
    reason: str
    """One sentence for a person."""
    trail: tuple[str, ...]
    """One sentence for each directory looked at, in order."""
    entry: Path
    """The entry directory, absolute."""
    findings: tuple[Finding, ...] = ()


@attrs.frozen(kw_only=True)
class SkippedEntry:
    """Something under the root that could not ship."""

    name: str
    reason: str


@attrs.frozen(kw_only=True)
class Exclusion:
    """Something under the root that a rule kept out; below an excluded directory nothing is listed."""

    name: str
    """Relative to the root; directories end in `/`."""
    source: str
    """`always`, `default`, `data`, `ignore-file` or `plugin:<name>`."""
    rule: str
    """The pattern as written."""


@attrs.frozen(kw_only=True)
class Manifest:
    """What is in the archive, what was skipped, and what rules kept out; each sorted by name."""

    entries: Sequence[ArchiveEntry]
    """Of a real archive, each is made when it is looked at: `names` costs much less."""
    skipped: tuple[SkippedEntry, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()

    @property
    def names(self) -> Sequence[str]:
        """Return the names of the entries."""
        if isinstance(self.entries, ArchiveEntries):
            return self.entries.names
        return [entry.name for entry in self.entries]


@attrs.frozen(kw_only=True)
class Artifact:
    """One file of a job, on this machine, with what the pod checks it by."""

    path: Path
    size_bytes: int
    sha256: str
    """64 hexadecimal digits."""


@attrs.frozen(kw_only=True)
class PayloadComponent:
    """What one argument or captured global weighs in the payload."""

    name: str
    """Such as `argument 0`, `keyword argument 'cfg'`, `global 'DF' of module trainer`."""
    size_bytes: int


@attrs.frozen(kw_only=True)
class Package:
    """A call, packaged: the artifacts and all that is known about them. Immutable."""

    root: PackageRoot
    plan: Mapping[str, Any]
    """The JSON object at `.kinetic/plan.json`."""
    context: Artifact
    payload: Artifact
    requirements: Artifact | None = None
    dependency_file: Path | None = None
    """The `requirements.txt` or `pyproject.toml` that applies, also where nothing was normalised from it."""
    dependencies: str | None = attrs.field(default=None, repr=False)
    """What it lists, normalised, one requirement or option a line; also where no artifact holds it. It may name an
    index, and with it a password."""
    manifest: Manifest
    findings: tuple[Finding, ...] = ()
    references: tuple[Reference, ...] = ()
    modules_by_value: tuple[str, ...] = ()
    environment_names: tuple[str, ...] = ()
    """Names of the captured variables; never their values."""
    payload_components: Sequence[PayloadComponent] = ()
    """The heaviest first."""

    @property
    def own_findings(self) -> tuple[Finding, ...]:
        """Return the findings beside those about the root, which are known before packing begins."""
        return tuple(finding for finding in self.findings if finding not in self.root.findings)
