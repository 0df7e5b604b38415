"""The plugin. Importing this module does not load pathspec."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from kinetic_core.errors import PluginError
from kinetic_core.plugin import ExcludeRule, RunRequest, hookimpl


@hookimpl
def kinetic_exclude_rules(root: Path, request: RunRequest) -> Sequence[ExcludeRule]:
    """Turn `.gitignore` files into rules; only when `ignore` names this dialect."""
    if "gitignore" not in request.options.ignore:
        return ()
    if importlib.util.find_spec("pathspec") is None:
        raise PluginError(
            "ignore='gitignore' needs pathspec, which is not installed; "
            "install it: pip install 'kinetic-run[gitignore]'"
        )
    from kinetic_gitignore.ignored import ignored

    return tuple(ignored(root))
