"""Which plugins are installed, and which of them are wanted."""

import difflib
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points

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
    found = (_candidate(entry_point) for entry_point in entry_points(group=GROUP))
    return tuple(sorted(found, key=lambda candidate: (candidate.origin.plugin, candidate.origin.distribution)))


def _candidate(entry_point: EntryPoint) -> Candidate:
    distribution = entry_point.dist
    name = str(distribution.metadata["Name"]) if distribution is not None else "an unknown distribution"
    return Candidate(
        origin=Origin(
            plugin=entry_point.name,
            module=entry_point.value,
            distribution=name,
            version=str(distribution.metadata["Version"]) if distribution is not None else "",
        ),
        entry_point=entry_point,
        built_in=re.sub(r"[-_.]+", "-", name).lower() == DISTRIBUTION,
    )


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
