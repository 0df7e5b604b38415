"""What the host tells about plugins: for `kinetic plugins`, for `kinetic_host_ready`, for warnings."""

from collections.abc import Iterable

from kinetic.host.problem import Origin, Problem, explain
from kinetic_core.plugin import HOOK_API, HostInfo, Logger, PluginInfo


def describe_plugin(
    origin: Origin, *, hooks: Iterable[str] = (), problems: Iterable[Problem] = (), disabled_by: str = ""
) -> PluginInfo:
    """Return what is to be known about one plugin."""
    return PluginInfo(
        name=origin.plugin,
        module=origin.module,
        distribution=origin.distribution,
        version=origin.version,
        hooks=tuple(sorted(set(hooks))),
        problem=explain(tuple(problems)),
        disabled_by=disabled_by,
    )


def describe_host(version: str, plugins: tuple[PluginInfo, ...]) -> HostInfo:
    """Return what a plugin learns about the host."""
    return HostInfo(version=version, hook_api=HOOK_API, plugins=plugins)


def report(problems: Iterable[Problem], log: Logger) -> None:
    """Log one warning for each problem."""
    for problem in problems:
        log.warning(
            "plugin_name_contested" if problem.code == "contested_name" else "plugin_rejected",
            plugin=problem.origin.plugin,
            distribution=f"{problem.origin.distribution} {problem.origin.version}",
            module=problem.origin.module,
            hook=problem.hook,
            signature=problem.signature,
            message=f"plugin {problem.origin.plugin!r} ({problem.origin}): {problem.message}",
            remedy=problem.remedy,
        )
