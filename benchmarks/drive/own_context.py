"""This project's packaging of a tree, and its runner's extraction."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


class _Packaging:
    """One project's context, packaged as a submission does, with a cache of its own."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        from kinetic.submission.context import pack_context, scan_context, second_process
        from kinetic.submission.snapshots import SnapshotCache
        from kinetic_core.packaging.rules import RuleSet, builtin_rules
        from kinetic_core.wire.plan import Plan

        root, self._out = Path(config["tree"]), Path(config["out"])
        self._cache = SnapshotCache(folder=self._out.with_suffix(".cache"))
        plan = Plan(package_root=str(root))

        def package() -> None:
            second = second_process()
            try:
                rules = RuleSet.compile(builtin_rules({}))
                scanned = scan_context(root, rules, cache=self._cache, environ={}, second=second)
                pack_context(scanned, plan, self._out, cache=self._cache, environ={}, second=second)
            finally:
                second.end()

        self.package = package

    def clear(self) -> None:
        self._out.unlink(missing_ok=True)

    def forget(self) -> None:
        self.clear()
        self._cache.clear()

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
    return Step(before=packaging.clear, act=packaging.package, facts=packaging.facts)


def edited(config: Mapping[str, Any]) -> Step:
    """Package a tree in which one file of a kilobyte changed since; it is put there by the first round."""
    packaging = _Packaging(config)
    packaging.forget()
    packaging.package()
    file = Path(config["tree"]) / config["edited"]

    def edit() -> None:
        packaging.clear()
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
