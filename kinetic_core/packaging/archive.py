"""The context archive: a deterministic ZIP of the scanned tree, with the plan at the reserved path."""

import hashlib
import os
import stat
import tempfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import attrs

from kinetic_core.errors import PackagingError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.package import ArchiveEntry, Artifact, Manifest, SkippedEntry
from kinetic_core.packaging.deflate import deflated, deflater, is_compressible
from kinetic_core.packaging.printable import printable
from kinetic_core.packaging.scan import Scan, ScanEntry, skip
from kinetic_core.packaging.source import CHUNK_BYTES, Source, is_same
from kinetic_core.packaging.zipformat import (
    DEFLATED,
    STORED,
    Member,
    central_header,
    descriptor,
    end_of_archive,
    local_header,
    needs_wide_sizes,
)
from kinetic_core.wire.names import PLAN_PATH
from kinetic_core.wire.plan import Plan

_PLAN_MODE: Final = stat.S_IFREG | 0o644


@attrs.frozen(kw_only=True)
class Written:
    """An archive on disk, and what is to be said about it."""

    artifact: Artifact
    manifest: Manifest
    """What it holds; what was skipped, also while scanning; what rules kept out."""
    findings: tuple[Finding, ...]
    """Of the writing alone; those of the scan are in the scan."""


def write_archive(scan: Scan, plan: Plan, target: Path) -> Written:
    """Write the context archive; the same tree and plan give the same bytes.

    It is written beside the target and moved into place; a failure leaves nothing behind. A file that cannot be read
    is skipped, one that changes while it is read is read once more and then ships as last read; each with a warning.

    Args:
        scan: What ships.
        plan: Written last, at the reserved path.
        target: Where the archive is to lie; never part of itself. Its directory exists.

    Raises:
        PackagingError: The archive cannot be written.

    >>> from kinetic_core.packaging.rules import RuleSet
    >>> from kinetic_core.packaging.scan import scan
    >>> root, out = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    >>> _ = (root / "train.py").write_text("x = 1")
    >>> written = write_archive(scan(root, RuleSet.compile([])), Plan(package_root=str(root)), out / "context.zip")
    >>> [entry.name for entry in written.manifest.entries]
    ['.kinetic/plan.json', 'train.py']
    """
    target_identity = _identity_of(target)
    with _Output(target) as output:
        writer = _Writer(output=output)
        for entry in scan.entries:
            if (entry.stat.st_dev, entry.stat.st_ino) == target_identity:
                continue
            if entry.name.endswith("/"):
                writer.add_directory(entry)
            else:
                writer.add_file(entry)
        writer.add_bytes(PLAN_PATH, plan.to_bytes())
        artifact = writer.close()
    skipped = sorted([*scan.skipped, *writer.skipped], key=lambda entry: entry.name)
    manifest = Manifest(
        entries=tuple(sorted(writer.entries, key=lambda entry: entry.name)),
        skipped=tuple(skipped),
        exclusions=scan.exclusions,
    )
    return Written(artifact=artifact, manifest=manifest, findings=tuple(writer.findings))


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Output:
    """A file beside the target that takes its place at the end; hashed on the way, and able to take back its tail."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.position = 0
        self._hash = hashlib.sha256()
        self._finished = False
        try:
            descriptor, name = tempfile.mkstemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent)
        except OSError as error:
            raise self._failed(error) from error
        self._path = Path(name)
        self._stream = os.fdopen(descriptor, "wb", buffering=CHUNK_BYTES)

    def __enter__(self) -> Self:
        return self

    def write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
        except OSError as error:
            raise self._failed(error) from error
        self._hash.update(data)
        self.position += len(data)

    def mark(self) -> tuple[int, "hashlib._Hash"]:
        return self.position, self._hash.copy()

    def take_back(self, mark: tuple[int, "hashlib._Hash"]) -> None:
        """Forget what was written since the mark."""
        self.position, self._hash = mark
        try:
            self._stream.seek(self.position)
            self._stream.truncate()
        except OSError as error:
            raise self._failed(error) from error

    def finish(self) -> Artifact:
        try:
            self._stream.close()
            self._path.replace(self.target)
        except OSError as error:
            raise self._failed(error) from error
        self._finished = True
        return Artifact(path=self.target, size_bytes=self.position, sha256=self._hash.hexdigest())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._finished:
            return
        # Closing writes what is buffered, which fails again on a full disk.
        try:
            self._stream.close()
        except OSError:
            pass
        finally:
            self._path.unlink()

    def _failed(self, error: OSError) -> PackagingError:
        message = f"the context archive {self.target} cannot be written: {error.strerror}."
        return PackagingError(f"{message} Make room and a writable directory for it (TMPDIR chooses another).")


class _Reading(NamedTuple):
    member: Member
    is_torn: bool
    """Whether the file changed between its opening and the end of reading."""
    is_as_listed: bool


@attrs.define(kw_only=True)
class _Writer:
    output: _Output
    entries: list[ArchiveEntry] = attrs.field(factory=list)
    skipped: list[SkippedEntry] = attrs.field(factory=list)
    findings: list[Finding] = attrs.field(factory=list)
    _central: list[bytes] = attrs.field(factory=list)

    def add_directory(self, entry: ScanEntry) -> None:
        member = Member(entry.name.encode(), entry.stat.st_mode, entry.stat.st_mtime, offset=self.output.position)
        self.output.write(local_header(member))
        self._record(entry.name, member)

    def add_bytes(self, name: str, data: bytes) -> None:
        member = self._put(Member(name.encode(), _PLAN_MODE, 0), data)
        self._record(name, member)

    def add_file(self, entry: ScanEntry) -> None:
        mark = self.output.mark()
        try:
            reading = self._read(entry)
            if reading.is_torn:
                self.output.take_back(mark)
                reading = self._read(entry)._replace(is_torn=True)
        except OSError as error:
            self.output.take_back(mark)
            self._skip(entry.name, error)
            return
        self._record(entry.name, reading.member)
        if reading.is_torn or not reading.is_as_listed:
            self._warn_changed(entry.name)

    def _read(self, entry: ScanEntry) -> "_Reading":
        with Source(entry.path) as source:
            member = Member(entry.name.encode(), source.status.st_mode, source.status.st_mtime)
            if source.status.st_size <= CHUNK_BYTES:
                member = self._put(member, b"".join(source.chunks()))
            else:
                member = self._stream(member, source)
            return _Reading(member, not source.is_unchanged(), is_same(source.status, entry.stat))

    def _put(self, member: Member, data: bytes) -> Member:
        """Write an entry whose content is at hand."""
        body = deflated(data)
        member = member._replace(
            method=STORED if body is None else DEFLATED,
            crc=zlib.crc32(data),
            compressed_bytes=len(data if body is None else body),
            size_bytes=len(data),
            offset=self.output.position,
        )
        self.output.write(local_header(member) + (data if body is None else body))
        return member

    def _stream(self, member: Member, source: Source) -> Member:
        """Write an entry piece by piece; never hold a file whole."""
        chunks = source.chunks()
        chunk = next(chunks, b"")
        compressor = deflater() if is_compressible(chunk) else None
        member = member._replace(
            method=STORED if compressor is None else DEFLATED,
            offset=self.output.position,
            sizes_follow=True,
            wide=needs_wide_sizes(source.status.st_size),
        )
        self.output.write(local_header(member))
        start, crc, size = self.output.position, 0, 0
        while chunk:
            crc, size = zlib.crc32(chunk, crc), size + len(chunk)
            self.output.write(chunk if compressor is None else compressor.compress(chunk))
            chunk = next(chunks, b"")
        if compressor is not None:
            self.output.write(compressor.flush())
        member = member._replace(crc=crc, compressed_bytes=self.output.position - start, size_bytes=size)
        self.output.write(descriptor(member))
        return member

    def close(self) -> Artifact:
        offset = self.output.position
        for record in self._central:
            self.output.write(record)
        size = self.output.position - offset
        self.output.write(end_of_archive(entries=len(self._central), offset=offset, size_bytes=size))
        return self.output.finish()

    def _record(self, name: str, member: Member) -> None:
        self._central.append(central_header(member))
        self.entries.append(ArchiveEntry(name=name, size_bytes=member.size_bytes, mode=stat.S_IMODE(member.mode)))

    def _skip(self, name: str, error: OSError) -> None:
        code = "vanished" if isinstance(error, FileNotFoundError) else "unreadable"
        skipped, finding = skip(name, code, f"it cannot be read: {error.strerror or error}")
        self.skipped.append(skipped)
        self.findings.append(finding)

    def _warn_changed(self, name: str) -> None:
        finding = Finding(
            code="file_changed",
            severity=Severity.WARNING,
            message=f"'{printable(name)}' changed while it was packaged; it ships as last read",
            remedy="Exclude files that are being written, such as logs, in .kineticignore.",
        )
        self.findings.append(finding)
