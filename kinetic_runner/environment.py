"""The function's surroundings: import path, working directory, variables."""

import os
import sys
from collections.abc import Mapping, MutableMapping
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from kinetic_core.wire import names
from kinetic_core.wire.plan import Plan
from kinetic_runner.log import Log

_BY_HAND: Final = "job-by-hand"
_PINNED: Final = (names.ENV_JOB_ID, names.ENV_HOST_INDEX, names.ENV_NUM_HOSTS, names.ENV_COORDINATOR)


def import_path(plan: Plan, workspace: Path, log: Log) -> list[str]:
    """Return what `sys.path` starts with: the root, then the plan's entries in order, none twice.

    Args:
        plan: As shipped.
        workspace: Where the context was extracted.
        log: Told of entries that are absent or lead out of the workspace.
    """
    entries = [str(workspace)]
    for rel in plan.sys_path_rel:
        path = _inside(workspace, rel)
        if path is None:
            log.caution(f"import path {rel!r} of the plan leads out of the workspace and is left out")
        elif not path.exists():
            log.caution(f"import path {rel!r} of the plan is not in the context and is left out")
        elif str(path) not in entries:
            entries.append(str(path))
    return entries


def working_directory(plan: Plan, workspace: Path, log: Log) -> Path:
    """Return where the function runs: the client's directory where it was shipped, the root otherwise.

    Args:
        plan: As shipped.
        workspace: Where the context was extracted.
        log: Told when it is the root for lack of the other.
    """
    if plan.client_cwd_rel is None:
        log.caution("the client's working directory is outside of what was shipped; running in the workspace root")
        return workspace
    path = _inside(workspace, plan.client_cwd_rel)
    if path is None:
        log.caution(f"working directory {plan.client_cwd_rel!r} leads out of the workspace; running in its root")
        return workspace
    if not path.is_dir():
        log.caution(f"working directory {plan.client_cwd_rel!r} was not shipped; running in the workspace root")
        return workspace
    return path


def enter(plan: Plan, workspace: Path, log: Log) -> None:
    """Give this process the import path and working directory of the plan."""
    entries = import_path(plan, workspace, log)
    sys.path[:] = [*entries, *(entry for entry in sys.path if entry not in entries)]
    os.chdir(working_directory(plan, workspace, log))


def set_variables(captured: Any, environ: MutableMapping[str, str], log: Log) -> None:
    """Put the captured variables over the pod's own; those that say which job and host this is stay.

    Args:
        captured: From the payload.
        environ: The pod's, changed in place.
        log: Told the names, never the values, of what cannot be set.
    """
    own = {name: environ[name] for name in _PINNED if name in environ}
    for name, value in (captured if isinstance(captured, Mapping) else {}).items():
        try:
            environ[name] = value
        except (TypeError, ValueError):
            log.caution(f"captured variable {name!r} cannot be set here and is left out")
    environ.update(own)


def name_job(environ: MutableMapping[str, str], host_index: int) -> None:
    """Say in the environment that this is a job, and which host; also where no backend did."""
    environ.setdefault(names.ENV_JOB_ID, _BY_HAND)
    environ[names.ENV_HOST_INDEX] = str(host_index)
    environ.setdefault(names.ENV_NUM_HOSTS, "1")
    environ["PYTHONUNBUFFERED"] = "1"


class WorkingDirLink:
    """The one link at the client's working directory path, so that absolute paths there lead to the workspace."""

    def __init__(self, path: str, workspace: Path) -> None:
        """Take note of both ends; nothing is made yet."""
        self._path = Path(path)
        self._workspace = workspace
        self._made: list[Path] = []

    def make(self, log: Log) -> None:
        """Make the link unless something is there; where that fails, say so and go on."""
        if not self._path.is_absolute() or os.path.lexists(self._path):
            return
        try:
            absent = takewhile(lambda parent: not os.path.lexists(parent), self._path.parents)
            for parent in reversed(list(absent)):
                parent.mkdir()
                self._made.append(parent)
            self._path.symlink_to(self._workspace, target_is_directory=True)
            self._made.append(self._path)
        except OSError as error:
            log.caution(f"no link at the client's working directory {str(self._path)!r}: {error}")

    def remove(self) -> None:
        """Remove what was made, where it is still the same."""
        for path in reversed(self._made):
            try:
                if path == self._path:
                    path.unlink()
                else:
                    path.rmdir()
            except OSError:
                break
        self._made.clear()


def _inside(workspace: Path, rel: str) -> Path | None:
    if "\0" in rel:
        return None
    path = Path(os.path.normpath(workspace / rel))
    # Resolved too: a directory of the workspace may have been replaced by a link since it was extracted.
    inside = path.is_relative_to(workspace) and path.resolve().is_relative_to(workspace.resolve())
    return path if inside and not os.path.isabs(rel) else None
