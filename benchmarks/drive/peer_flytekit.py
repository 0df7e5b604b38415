"""Flyte's fast registration, as `flytekit.tools.repo.package` calls it."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


def cold(config: Mapping[str, Any]) -> Step:
    """List, hash, tar and compress a tree."""
    registration = import_module("flytekit.tools.fast_registration")
    ignoring = import_module("flytekit.tools.ignore")
    style = import_module("flytekit.constants").CopyFileDetection.ALL
    patterns = [f"{name}/*" for name in config["excluded"]]

    def left_out(root: str) -> Any:
        return ignoring.StandardIgnore(root, patterns)

    # By default it also asks git, which ignores the whole folder of the benchmark.
    options = registration.FastPackageOptions(ignores=[left_out], keep_default_ignores=False, copy_style=style)
    folder = Path(config["out"])
    folder.mkdir(parents=True, exist_ok=True)

    def before() -> None:
        for path in folder.iterdir():
            path.unlink()

    return Step(
        before=before,
        act=lambda: registration.fast_package(Path(config["tree"]), str(folder), False, options),  # noqa: FBT003
        facts=lambda: {"bytes": sum(path.stat().st_size for path in folder.iterdir())},
    )
