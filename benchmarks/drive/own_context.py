"""This project's packaging of a tree, and its runner's extraction."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


def cold(config: Mapping[str, Any]) -> Step:
    """Package a tree that nothing is known of."""
    from kinetic_core.packaging.archive import write_archive
    from kinetic_core.packaging.rules import RuleSet, builtin_rules
    from kinetic_core.packaging.scan import scan
    from kinetic_core.wire.plan import Plan

    root, out = Path(config["tree"]), Path(config["out"])

    def act() -> None:
        write_archive(scan(root, RuleSet.compile(builtin_rules({}))), Plan(package_root=str(root)), out)

    return Step(
        before=lambda: out.unlink(missing_ok=True),
        act=act,
        facts=lambda: {"bytes": out.stat().st_size},
    )


def extract(config: Mapping[str, Any]) -> Step:
    """Extract a context, as the runner does."""
    from kinetic_runner.log import Log
    from kinetic_runner.workspace import extract as extract_context

    archive, target = Path(config["archive"]), Path(config["target"])
    return Step(
        before=lambda: shutil.rmtree(target, ignore_errors=True),
        act=lambda: extract_context(archive, target, environ={}, log=Log()),
    )
