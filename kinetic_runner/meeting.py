"""Meeting: the hosts of a job become one, by what the image offers for it.

An entry point of group `kinetic.hosts` names a module with `join` and `leave`. Nobody looks for one but where the
backend names a place to meet and the client's plugin of the same name has left its mark in the plan.
"""

from collections.abc import Collection, Mapping
from typing import Final, Protocol

from kinetic_core.wire.names import ENV_COORDINATOR, ENV_NUM_HOSTS
from kinetic_core.wire.plan import Plan
from kinetic_runner.image import image_path
from kinetic_runner.log import Log

GROUP: Final = "kinetic.hosts"


class Meeting(Protocol):
    """A module that lets hosts meet: `kinetic_jax.hosts`, or a stranger's."""

    def join(self, coordinator: str, /, *, hosts: int, index: int) -> None:
        """Return when all hosts are there."""

    def leave(self, *, failed: bool) -> None:
        """Return when all hosts are done; where this one failed, at once, and do not let its end wait for others."""


def wanted(plan: Plan) -> list[str]:
    """Return the names of the client's plugins by which hosts are to meet.

    >>> wanted(Plan(package_root="", extensions={"jax": {"meets": True}, "dvc": {"rev": "1"}}))
    ['jax']
    """
    return [name for name, entry in plan.extensions.items() if isinstance(entry, dict) and entry.get("meets") is True]


def join(names: Collection[str], environ: Mapping[str, str], *, index: int, log: Log) -> list[Meeting]:
    """Meet the other hosts, in each way that the plan names; return what is to be left after the call.

    Args:
        names: Of plugins of the client's.
        environ: Says where hosts meet, and how many there are.
        index: Which one this is.
        log: Told of ways that this image does not have.

    Raises:
        RuntimeError: They do not come together.
    """
    if not names:
        return []
    coordinator = environ[ENV_COORDINATOR]
    with image_path():
        from importlib.metadata import entry_points

        found = {entry.name: entry for entry in entry_points(group=GROUP)}
    joined: list[Meeting] = []
    for name in names:
        if name not in found:
            log.caution(f"the hosts do not meet by {name!r}: kinetic-run[{name}] is not installed here")
            continue
        try:
            with image_path():
                meeting: Meeting = found[name].load()
                meeting.join(coordinator, hosts=int(environ[ENV_NUM_HOSTS]), index=index)
        except Exception as error:
            raise RuntimeError(
                f"the hosts could not meet at {coordinator} by {name!r}: {type(error).__name__}: {error}"
            ) from error
        log.stage(f"met the other hosts by {name!r}")
        joined.append(meeting)
    return joined
