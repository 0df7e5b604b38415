"""The plugin. Importing this module does not load JAX."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kinetic_core.plugin import RunRequest, hookimpl


@hookimpl
def kinetic_plan_entries(root: Path, request: RunRequest) -> Mapping[str, Any]:
    """Let the hosts of a job meet, where there are several and JAX is installed; the runner does it by this name."""
    if (request.options.hosts or 1) == 1 or importlib.util.find_spec("jax") is None:
        return {}
    return {"meets": True}
