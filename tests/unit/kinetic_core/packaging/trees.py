"""Small trees to package, and the surroundings to do it in."""

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from kinetic_core.findings import Severity
from kinetic_core.model.package import PackageRoot
from kinetic_core.model.request import Surroundings
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.packaging.scan import Scan, scan

NOBODY = 65534
NO_RULES = RuleSet.compile(())


def grow(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Make files below a directory, parents included; a name that ends in `/` is a directory."""
    for name, content in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def surroundings(
    *,
    environ: Mapping[str, str] | None = None,
    home: Path = Path("/nowhere/home"),
    cwd: Path = Path("/nowhere/cwd"),
    sys_path: tuple[str, ...] = (),
) -> Surroundings:
    return Surroundings(environ=environ or {}, home=home, cwd=cwd, sys_path=sys_path)


def load(path: Path, source: str = "def train():\n    return 1\n") -> ModuleType:
    """Write a module where its parents may not exist yet, and import it under no name that others see."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("kinetic_test_module", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package_root(path: Path, entry: Path | None = None) -> PackageRoot:
    return PackageRoot(path=path, step="entry", reason="", trail=(), entry=entry or path)


def globs(*patterns: str, source: str = "ignore-file") -> RuleSet:
    return RuleSet.compile(ExcludeRule(pattern=pattern, source=source) for pattern in patterns)


def names(root: Path, rules: RuleSet = NO_RULES) -> list[str]:
    return entry_names(scan(root, rules))


def entry_names(found: Scan) -> list[str]:
    return [entry.name for entry in found.entries]


def skipped(found: Scan) -> dict[str, str]:
    """Return the code of each skipped name, checking that each has one warning which names it."""
    assert [finding.severity for finding in found.findings] == [Severity.WARNING] * len(found.skipped)
    pairs = list(zip(found.skipped, found.findings, strict=True))
    assert all(entry.name in finding.message and entry.reason in finding.message for entry, finding in pairs)
    return {entry.name: finding.code for entry, finding in pairs}


@contextmanager
def unprivileged_folder() -> Iterator[Path]:
    """Give a folder in which modes count: as root, everything below is done as `nobody`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        if os.geteuid() != 0:
            yield folder
            return
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(0)
