"""The hook that the GKE backend defines."""

from collections.abc import Mapping
from typing import Any

from kinetic_core.plugin import JobSpec
from kinetic_core.plugin.markers import hookspec


@hookspec
def kinetic_gke_patch_pod(pod: Mapping[str, Any], job: JobSpec) -> Mapping[str, Any]:
    """Return a merge patch for a job's pod template; an empty one changes nothing."""
    return {}
