"""This project's packaging of a tree, and its runner's extraction."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


class _Packaging:
    """One project's context, packaged again and again, with what the last time left or without."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        from kinetic_core.packaging import archive, rules, scan, snapshot
        from kinetic_core.wire.plan import Plan

        self._archive, self._scan, self._snapshot = archive, scan, snapshot
        self._root, self._out = Path(config["tree"]), Path(config["out"])
        self._index = self._out.with_suffix(".index")
        self._builtin_rules, self._compile = rules.builtin_rules, rules.RuleSet.compile
        self._plan = Plan(package_root=str(self._root))

    def forget(self) -> None:
        self._out.unlink(missing_ok=True)
        self._index.unlink(missing_ok=True)

    def package(self) -> None:
        """Scan, read what is known, write what differs, keep what is known now."""
        scanned = self._scan.scan(self._root, self._compile(self._builtin_rules({})))
        earlier = None
        if self._index.exists():
            earlier = self._snapshot.Snapshot.from_bytes(self._index.read_bytes(), lambda _: self._out)
        written = self._archive.write_archive(
            scanned, self._plan, self._out, earlier=earlier, threads=os.cpu_count() or 1
        )
        if not written.is_earlier:
            self._index.write_bytes(written.snapshot.to_bytes())

    def facts(self) -> Mapping[str, float]:
        return {"bytes": self._out.stat().st_size}


def cold(config: Mapping[str, Any]) -> Step:
    """Package a tree that nothing is known of."""
    packaging = _Packaging(config)
    return Step(before=packaging.forget, act=packaging.package, facts=packaging.facts)


def warm(config: Mapping[str, Any]) -> Step:
    """Package a tree that did not change since."""
    packaging = _Packaging(config)
    packaging.forget()
    packaging.package()
    return Step(act=packaging.package, facts=packaging.facts)


def edited(config: Mapping[str, Any]) -> Step:
    """Package a tree in which one file of a kilobyte changed since; it is put there by the first round."""
    packaging = _Packaging(config)
    packaging.forget()
    packaging.package()
    file = Path(config["tree"]) / config["edited"]

    def edit() -> None:
        file.write_bytes(os.urandom(512).hex().encode())

    return Step(before=edit, act=packaging.package, facts=packaging.facts)


def extract(config: Mapping[str, Any]) -> Step:
    """Extract a context, as the runner does."""
    from kinetic_runner.log import Log
    from kinetic_runner.workspace import extract as extract_context

    archive, target = Path(config["archive"]), Path(config["target"])
    return Step(
        before=lambda: shutil.rmtree(target, ignore_errors=True),
        act=lambda: extract_context(archive, target, environ={}, log=Log()),
    )
