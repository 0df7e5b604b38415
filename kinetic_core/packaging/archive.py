"""The context archive: a deterministic ZIP of the scanned tree, with the plan at the reserved path."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.blocks import Listing
from kinetic_core.model.collector import collector_paused
from kinetic_core.model.entry import ArchiveEntries
from kinetic_core.model.listing import DEVICE, INODE, STATUS, Listed
from kinetic_core.model.package import Artifact, Manifest
from kinetic_core.model.trust import trusted
from kinetic_core.packaging.alignment import Stretch, align
from kinetic_core.packaging.composition import Copied
from kinetic_core.packaging.deflate import Codec, find_codec
from kinetic_core.packaging.outline import Outline
from kinetic_core.packaging.output import Output
from kinetic_core.packaging.packing import Packer
from kinetic_core.packaging.scan import Scan
from kinetic_core.packaging.secondpacker import SecondPacker
from kinetic_core.packaging.secondprocess import WORTH_A_PROCESS_FILES, SecondProcess, own_interpreter
from kinetic_core.packaging.smallfiles import FLAGS
from kinetic_core.packaging.snapshot import EarlierArchive, Snapshot, is_whole, maker
from kinetic_core.packaging.source import CHUNK_BYTES
from kinetic_core.packaging.workers import Workers
from kinetic_core.packaging.writer import Writer
from kinetic_core.packaging.zipformat import Moments
from kinetic_core.wire.names import PLAN_PATH
from kinetic_core.wire.plan import Plan

_PLAN_MODE: Final = stat.S_IFREG | 0o644
_WORTH_A_THREAD_BYTES: Final = 64 << 20


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Written:
    """An archive on disk, and what is to be said about it."""

    artifact: Artifact
    manifest: Manifest
    """What it holds; what was skipped, also while scanning; what rules kept out."""
    findings: tuple[Finding, ...]
    """Of the writing alone; those of the scan are in the scan."""
    snapshot: Snapshot
    """For the next packaging of the same root."""
    copied: tuple[Copied, ...] = ()
    """What was copied from the earlier archive, by number of the entry."""
    is_earlier: bool = False
    """Whether nothing was written, because the earlier archive is what would have been: `artifact` is that one."""


@collector_paused()
def write_archive(
    scan: Scan,
    plan: Plan,
    target: Path,
    *,
    codec: Codec | None = None,
    earlier: Snapshot | None = None,
    threads: int = 1,
    second: SecondProcess | None = None,
) -> Written:
    """Write the context archive; the same tree, plan and codec give the same bytes, whatever is copied from before.

    It is written beside the target and moved into place; a failure leaves nothing behind. A file that cannot be read
    is skipped, one that changes while it is read is read once more and then ships as last read; each with a warning.

    Args:
        scan: What ships.
        plan: Written last, at the reserved path.
        target: Where the archive is to lie; never part of itself. Its directory exists.
        codec: The fastest one installed, unless given.
        earlier: Of an earlier packaging, perhaps of another state of the tree. What is unchanged since is copied;
            when everything is, nothing is written. One that is damaged or gone is not used.
        threads: How many may compress at once; with two or more, many small files are shared with a second process.
        second: That process, perhaps started ahead; the caller ends it, should this not come to it.

    Raises:
        PackagingError: The archive cannot be written.

    >>> import tempfile
    >>> from kinetic_core.packaging.rules import RuleSet
    >>> from kinetic_core.packaging.scan import scan
    >>> root, out = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    >>> _ = (root / "train.py").write_text("x = 1")
    >>> written = write_archive(scan(root, RuleSet.compile([])), Plan(package_root=str(root)), out / "context.zip")
    >>> [entry.name for entry in written.manifest.entries]
    ['.kinetic/plan.json', 'train.py']
    """
    packaging = _Packaging(
        scan=scan,
        listing=_without(target, scan.listing),
        plan=plan.to_bytes(),
        target=target,
        codec=codec or find_codec(),
        threads=threads,
        second=second or SecondProcess(own_interpreter()),
    )
    if earlier is None or earlier.made_by != packaging.made_by:
        return packaging.write(None)
    return packaging.write_after(earlier)


def _without(target: Path, listing: Listing) -> Listing:
    try:
        status = target.stat()
    except OSError:
        return listing
    identity = status.st_dev, status.st_ino
    if not any(row[STATUS][INODE] == identity[1] for row in listing):
        return listing
    return Listing(row for row in listing if (row[STATUS][DEVICE], row[STATUS][INODE]) != identity)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class _Packaging:
    scan: Scan
    listing: Listing
    plan: bytes
    target: Path
    codec: Codec
    threads: int
    second: SecondProcess
    made_by: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "made_by", maker(self.codec))

    def write_after(self, earlier: Snapshot) -> Written:
        """Use what an earlier packaging left, as far as it is whole and still true."""
        try:
            descriptor = os.open(earlier.archive, FLAGS)
        except OSError:
            return self.write(None)
        try:
            if not is_whole(descriptor, earlier, self.codec.crc32):
                return self._mended(earlier)
            if self.plan == earlier.plan and self.listing == earlier.listing:
                return self._as_before(earlier)
            archive = EarlierArchive(descriptor, earlier)
            archive.confirm(self.listing, Packer(base=self.scan.base, codec=self.codec, moments=Moments()))
            if self.plan == earlier.plan and archive.listing == self.listing:
                return self._as_before(attrs.evolve(earlier, listing=self._trusted(self.listing)))
            return self.write(archive)
        except OSError:
            # The earlier archive cannot be read any more; a target that cannot be written is a PackagingError.
            return self.write(None)
        finally:
            os.close(descriptor)

    def write(self, archive: EarlierArchive | None) -> Written:
        """Write all, copying what stands in the earlier archive as it is."""
        long_bytes = self.listing.bytes_in_long(CHUNK_BYTES)
        own_thread = self.threads > 1 and long_bytes >= _WORTH_A_THREAD_BYTES
        stretches = tuple(align(self.listing, Listing() if archive is None else archive.listing))
        packer = Packer(base=self.scan.base, codec=self.codec, moments=Moments())
        # Here rather than at the end: a second process, started ahead, is not ready yet.
        as_listed = None if archive is not None else self._trusted(self.listing)
        with (
            Output(self.target, crc32=self.codec.crc32, own_thread=own_thread) as output,
            Workers(self.threads) as workers,
            SecondPacker(packer, self._second_process(stretches)) as packers,
        ):
            writer = Writer(output=output, workers=workers, packer=packer, packers=packers)
            for stretch in stretches:
                if archive is None or stretch.earlier is None:
                    writer.add(self.listing.part(stretch.start, stretch.stop))
                else:
                    writer.copy(archive, stretch.earlier, stretch.earlier + stretch.stop - stretch.start)
            packers.finish()
            writer.close(_plan_row(self.plan), self.plan)
            output.finish()
        artifact = Artifact(path=self.target, size_bytes=output.position, sha256=output.sha256)
        listing = writer.listing
        snapshot = Snapshot(
            archive=artifact.path,
            size_bytes=artifact.size_bytes,
            sha256=artifact.sha256,
            crc=output.crc,
            made_by=self.made_by,
            plan=self.plan,
            listing=as_listed if as_listed and listing.rows == self.listing.rows else self._trusted(listing),
            outline=None if writer.skipped else self._outline(),
            directory=writer.directory,
            places=writer.places.to_plain(),
        )
        skipped = sorted([*self.scan.skipped, *writer.skipped], key=lambda entry: entry.name)
        manifest = Manifest(entries=self._entries(listing), skipped=tuple(skipped), exclusions=self.scan.exclusions)
        return Written(
            artifact=artifact,
            manifest=manifest,
            findings=tuple(writer.findings),
            snapshot=snapshot,
            copied=tuple(writer.copied),
        )

    def _second_process(self, stretches: Sequence[Stretch]) -> SecondProcess | None:
        """Return the second process; none where it would not be ready before the end."""
        fresh = sum(stretch.stop - stretch.start for stretch in stretches if stretch.earlier is None)
        return self.second if self.threads > 1 and fresh >= WORTH_A_PROCESS_FILES else None

    def _trusted(self, listing: Listing) -> Listing:
        return trusted(listing, self.scan.started_ns)

    def _outline(self) -> Outline | None:
        """Return what tells the next scan of the names; nothing where one of them was left out here."""
        outline = self.scan.outline
        if outline is None or self.listing is not self.scan.listing:
            return None
        return attrs.evolve(outline, directories=self._trusted(outline.directories))

    def _entries(self, listing: Listing) -> ArchiveEntries:
        return ArchiveEntries(listing, _plan_row(self.plan))

    def _as_before(self, earlier: Snapshot) -> Written:
        if self.scan.outline is not earlier.outline:
            earlier = attrs.evolve(earlier, outline=self._outline())
        manifest = Manifest(
            entries=self._entries(self.listing), skipped=self.scan.skipped, exclusions=self.scan.exclusions
        )
        return Written(
            artifact=earlier.artifact,
            manifest=manifest,
            findings=(),
            snapshot=earlier,
            copied=(Copied(0, len(self.listing), 0),),
            is_earlier=True,
        )

    def _mended(self, earlier: Snapshot) -> Written:
        written = self.write(None)
        finding = Finding(
            code="snapshot_damaged",
            severity=Severity.INFO,
            message=f"the archive kept from an earlier packaging, {earlier.archive}, was damaged and is made anew",
        )
        return attrs.evolve(written, findings=(*written.findings, finding))


def _plan_row(plan: bytes) -> Listed:
    return PLAN_PATH, (_PLAN_MODE, 0, 0, 0, 0, 0, len(plan)), 0, 0
