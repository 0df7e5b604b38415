"""Which plugins are installed, and which of them are wanted."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, distributions

import attrs

from kinetic.host.problem import Origin, Problem
from kinetic_core.plugin import Logger

GROUP = "kinetic"
DISTRIBUTION = "kinetic-run"
"""The distribution whose plugins are the built-in ones."""


@attrs.frozen(kw_only=True)
class Candidate:
    """A plugin that is installed; nothing of it has been imported."""

    origin: Origin
    entry_point: EntryPoint
    built_in: bool


@attrs.frozen(kw_only=True)
class Switches:
    """What the user said about plugins by environment variables."""

    disabled: frozenset[str] = frozenset()
    autoload: bool = True
    trace: bool = False

    def disabled_by(self, candidate: Candidate) -> str:
        """Return the variable that leaves a plugin out, or nothing."""
        if candidate.origin.plugin in self.disabled:
            return "KINETIC_DISABLE_PLUGINS"
        if not self.autoload and not candidate.built_in:
            return "KINETIC_PLUGIN_AUTOLOAD"
        return ""


def read_switches(environ: Mapping[str, str]) -> Switches:
    """Read the variables that concern plugins.

    >>> sorted(read_switches({"KINETIC_DISABLE_PLUGINS": "slurm, dvc"}).disabled)
    ['dvc', 'slurm']
    """
    names = (name.strip() for name in environ.get("KINETIC_DISABLE_PLUGINS", "").split(","))
    return Switches(
        disabled=frozenset(name for name in names if name),
        autoload=environ.get("KINETIC_PLUGIN_AUTOLOAD") != "0",
        trace=environ.get("KINETIC_TRACE_PLUGINS") == "1",
    )


def discover() -> tuple[Candidate, ...]:
    """Return every installed plugin, sorted by name and distribution, each distribution once, as Python sees it."""
    found = {_normal(name): _as_seen(name, one) for one in distributions() for name in _name_where_there_are_some(one)}
    candidates = [candidate for one in found.values() for candidate in _candidates(one)]
    return tuple(sorted(candidates, key=lambda candidate: (candidate.origin.plugin, candidate.origin.distribution)))


def _name_where_there_are_some(one: Distribution) -> Iterator[str]:
    """Yield a distribution's name, where it is worth reading: an environment has hundreds that have none."""
    if f"[{GROUP}]" in (one.read_text("entry_points.txt") or ""):
        yield str(one.metadata["Name"])


def _as_seen(name: str, one: Distribution) -> Distribution:
    """Return the distribution that has a name: of several, the first on the path."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return one


def _candidates(one: Distribution) -> Iterator[Candidate]:
    metadata = one.metadata
    name, version = str(metadata["Name"]), str(metadata["Version"])
    for entry_point in one.entry_points:
        if entry_point.group == GROUP:
            origin = Origin(plugin=entry_point.name, module=entry_point.value, distribution=name, version=version)
            yield Candidate(origin=origin, entry_point=entry_point, built_in=_normal(name) == DISTRIBUTION)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def contested_names(candidates: Iterable[Candidate]) -> dict[Candidate, Problem]:
    """Return the plugins that may not keep their names: built-in ones win, and among strangers none does.

    A plugin's name stands in exclusions and in the plan, so it must mean one plugin.
    """
    by_name: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_name.setdefault(candidate.origin.plugin, []).append(candidate)
    return {
        candidate: _contest(candidate, rivals)
        for rivals in by_name.values()
        if len(rivals) > 1
        for candidate in rivals
        if not candidate.built_in
    }


def _contest(candidate: Candidate, rivals: Iterable[Candidate]) -> Problem:
    others = " and by ".join(str(rival.origin) for rival in rivals if rival is not candidate)
    return Problem(
        code="contested_name",
        origin=candidate.origin,
        message=f"its entry point's name {candidate.origin.plugin!r} is also used by {others}",
        remedy="uninstall one of them, or ask its author to rename the entry point",
    )


def report_unknown(switches: Switches, candidates: Iterable[Candidate], log: Logger) -> None:
    """Warn about names in `KINETIC_DISABLE_PLUGINS` that no plugin has: what was meant is still in use."""
    known = {candidate.origin.plugin for candidate in candidates}
    for name in sorted(switches.disabled - known):
        near = difflib.get_close_matches(name, known, n=1)
        log.warning(
            "disabled_plugin_unknown",
            plugin=name,
            message=f"KINETIC_DISABLE_PLUGINS names {name!r}, and there is no such plugin",
            remedy=f"did you mean {near[0]!r}?" if near else "`kinetic plugins` lists those installed",
        )
