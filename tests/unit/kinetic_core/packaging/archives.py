"""Archives of small trees, read back; and files that change while they are read."""

import os
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.findings import Severity
from kinetic_core.packaging import source
from kinetic_core.packaging.archive import Written, write_archive
from kinetic_core.packaging.scan import scan
from kinetic_core.wire.names import PLAN_PATH
from kinetic_core.wire.plan import Plan
from tests.unit.kinetic_core.packaging.trees import NO_RULES

PLAN = Plan(package_root="/p")
LARGE = source.CHUNK_BYTES * 2 + 12_345
NOISE = random.Random(7).randbytes(LARGE)
TEXT = (b"def f(x):\n    return x + 1\n" * (LARGE // 20))[:LARGE]


def write(root: Path, target: Path, plan: Plan = PLAN) -> Written:
    return write_archive(scan(root, NO_RULES), plan, target)


def contents(written: Written) -> dict[str, bytes]:
    """Read an archive with zipfile, checking that it is whole, names nothing twice, and ends with our plan."""
    with zipfile.ZipFile(written.artifact.path) as opened:
        assert opened.testzip() is None
        names = opened.namelist()
        assert len(names) == len(set(names))
        assert names[-1] == PLAN_PATH
        assert sorted(names) == [entry.name for entry in written.manifest.entries]
        return {name: opened.read(name) for name in names if name != PLAN_PATH}


def infos(written: Written) -> dict[str, zipfile.ZipInfo]:
    with zipfile.ZipFile(written.artifact.path) as opened:
        return {info.filename: info for info in opened.infolist()}


@contextmanager
def while_reading(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[int], None]) -> Iterator[None]:
    """Do something to a file just before each piece of it is read; the pieces count from 0."""
    read: Any = os.read
    opened: Any = os.open
    watched: set[int] = set()
    count = iter(range(1_000_000))

    def open_file(path: Any, *args: Any, **kwargs: Any) -> Any:
        descriptor = opened(path, *args, **kwargs)
        watched.discard(descriptor)
        if str(path).endswith(name):
            watched.add(descriptor)
        return descriptor

    def read_piece(descriptor: int, size: int) -> Any:
        if descriptor in watched:
            act(next(count))
        return read(descriptor, size)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", open_file)
        patched.setattr(os, "read", read_piece)
        yield


def codes(written: Written) -> list[str]:
    assert all(finding.severity is Severity.WARNING for finding in written.findings)
    return [finding.code for finding in written.findings]
