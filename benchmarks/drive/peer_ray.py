"""Ray's working-directory package, as `ray._private.runtime_env.working_dir` makes it; and its local round trip."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


def cold(config: Mapping[str, Any]) -> Step:
    """Hash the directory for its URI, then zip it."""
    packaging = import_module("ray._private.runtime_env.packaging")
    out = Path(config["out"]).with_suffix(".zip")
    excludes = _excludes(config)

    def act() -> None:
        packaging.get_uri_for_directory(config["tree"], include_gitignore=True, excludes=excludes)
        packaging.create_package(config["tree"], out, include_gitignore=True, excludes=excludes)

    return Step(before=lambda: out.unlink(missing_ok=True), act=act, facts=lambda: {"bytes": out.stat().st_size})


def again(config: Mapping[str, Any]) -> Step:
    """Hash the directory, and find that the store has it."""
    packaging = import_module("ray._private.runtime_env.packaging")
    excludes = _excludes(config)
    return Step(act=lambda: packaging.get_uri_for_directory(config["tree"], include_gitignore=True, excludes=excludes))


def round_trip(_: Mapping[str, Any]) -> Step:
    """Run a task on a local cluster; the first round starts it."""
    ray = import_module("ray")

    def double(x: int) -> int:
        return 2 * x

    def act() -> None:
        if not ray.is_initialized():
            ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
        ray.get(ray.remote(double).remote(1))

    return Step(act=act)


def _excludes(config: Mapping[str, Any]) -> list[str]:
    constants = import_module("ray._private.ray_constants")
    defaults: list[str] = constants.get_runtime_env_default_excludes()
    return [*defaults, *config["excluded"]]
