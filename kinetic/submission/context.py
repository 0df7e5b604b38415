"""The context archive of a submission: what is unchanged since the last one comes from the cache."""

import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import attrs

from kinetic import settings
from kinetic.log import get_logger
from kinetic.submission.snapshots import SnapshotCache, link_or_copy
from kinetic_core.findings import Finding, Severity
from kinetic_core.packaging.archive import Written, write_archive
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.packaging.scan import Scan, scan
from kinetic_core.packaging.secondprocess import SecondProcess, own_interpreter
from kinetic_core.packaging.snapshot import Snapshot
from kinetic_core.wire.plan import Plan

_MOST_THREADS: Final = 4


def second_process() -> SecondProcess:
    """Return the process that may pack beside this one, not started yet: none where there is one processor.

    >>> second_process().running is None
    True
    """
    return SecondProcess(own_interpreter() if _threads() > 1 else "")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Scanned:
    """A scan, and what it may have been told of by the cache."""

    scan: Scan
    earlier: Snapshot | None = None
    """Of the last packaging, to be used for this one too."""


def scan_context(
    root: Path,
    rules: RuleSet,
    *,
    avoid: Collection[Path] = (),
    cache: SnapshotCache,
    environ: Mapping[str, str],
    second: SecondProcess | None = None,
) -> Scanned:
    """List what ships from a root; the same whatever the cache holds.

    Args:
        root: The package root, absolute.
        rules: What to keep out.
        avoid: Files and directories that are never listed.
        cache: Used as `KINETIC_CACHE` says.
        environ: Where that is looked up.
        second: Started on the way, where there are many files to look at, or to pack.

    Raises:
        PackagingError: The root itself cannot be listed.
    """
    mode, _ = settings.cache_mode(environ)
    earlier = None if mode == "off" else cache.load(root)
    found = scan(root, rules, avoid=avoid, earlier=earlier, second=second)
    if mode != "verify":
        return Scanned(scan=found, earlier=earlier)
    listed = scan(root, rules, avoid=avoid)
    if (found.listing, found.exclusions) != (listed.listing, listed.exclusions):
        listed = attrs.evolve(listed, findings=(*listed.findings, _mismatch(root)))
    return Scanned(scan=listed, earlier=earlier)


def pack_context(
    scanned: Scanned,
    plan: Plan,
    target: Path,
    *,
    cache: SnapshotCache,
    environ: Mapping[str, str],
    second: SecondProcess | None = None,
) -> Written:
    """Put the context archive of a scanned tree in its place; the same bytes whatever the cache holds.

    Args:
        scanned: What ships.
        plan: Goes in last.
        target: Where the archive is to lie.
        cache: Used as `KINETIC_CACHE` says.
        environ: Where that is looked up.
        second: A process that may pack too, perhaps started ahead; the caller ends it, should this not come to it.

    Raises:
        PackagingError: The archive cannot be written.
    """
    mode, findings = settings.cache_mode(environ)
    pack = {"off": _without_cache, "verify": _verified, "on": _after_the_last}[mode]
    written = pack(scanned, plan, target, cache, second or second_process())
    return attrs.evolve(written, findings=(*findings, *written.findings))


def _without_cache(scanned: Scanned, plan: Plan, target: Path, _: SnapshotCache, second: SecondProcess) -> Written:
    return write_archive(scanned.scan, plan, target, threads=_threads(), second=second)


def _after_the_last(scanned: Scanned, plan: Plan, target: Path, cache: SnapshotCache, second: SecondProcess) -> Written:
    found, earlier = scanned.scan, scanned.earlier
    written = write_archive(found, plan, target, earlier=earlier, threads=_threads(), second=second)
    if written.is_earlier:
        try:
            link_or_copy(written.artifact.path, target)
        except OSError:
            # Another process has replaced it meanwhile.
            written = write_archive(found, plan, target, threads=_threads(), second=second)
        else:
            written = attrs.evolve(written, artifact=attrs.evolve(written.artifact, path=target))
    if written.snapshot == earlier:
        get_logger("kinetic.submission").debug("context_unchanged", root=str(found.root))
    else:
        cache.keep(found.root, written.snapshot)
    if earlier is not None and written.snapshot.sha256 != earlier.sha256:
        _follow(found.root, earlier, written, cache)
    return written


def _follow(root: Path, earlier: Snapshot, written: Written, cache: SnapshotCache) -> None:
    """Keep of what stores have this archive is made, as that was known of the earlier one."""
    known = cache.compositions(root)
    followed = {
        store: composition.after(written.copied, sha256=written.snapshot.sha256, entries=written.snapshot.entry_count)
        for store, composition in known.items()
        if composition.sha256 == earlier.sha256
    }
    if known:
        cache.keep_compositions(root, followed)


def _verified(scanned: Scanned, plan: Plan, target: Path, cache: SnapshotCache, second: SecondProcess) -> Written:
    """Read every file, and see whether the cache would have given the same."""
    found, earlier = scanned.scan, scanned.earlier
    written = write_archive(found, plan, target, threads=_threads(), second=second)
    if earlier is not None:
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            warm = write_archive(
                found, plan, Path(folder, target.name), earlier=earlier, threads=_threads(), second=second
            )
        if warm.artifact.sha256 != written.artifact.sha256:
            written = attrs.evolve(written, findings=(*written.findings, _mismatch(found.root)))
    cache.keep(found.root, written.snapshot)
    return written


def _mismatch(root: Path) -> Finding:
    return Finding(
        code="snapshot_stale",
        severity=Severity.WARNING,
        message=f"the cache of {root} would have shipped something else than lies there now; it was not used",
        remedy="A file that changed during this very check explains it; else the file system does not tell of changes: "
        "set KINETIC_CACHE=off there.",
    )


def _threads() -> int:
    return min(_MOST_THREADS, settings.processors())
