"""What the host hands to a driver when it opens it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import attrs

from kinetic_core.model.request import RunOptions


class Logger(Protocol):
    """A structured logger: the event is a snake_case fact, details are keywords."""

    def debug(self, event: str, **details: Any) -> None:
        """Record a detail for the curious."""

    def info(self, event: str, **details: Any) -> None:
        """Record a stage."""

    def warning(self, event: str, **details: Any) -> None:
        """Record something that the user should act on."""


def _nobody_answers(_hook: str, **_arguments: Any) -> Mapping[str, Any]:
    return {}


@attrs.frozen(kw_only=True)
class DriverContext:
    """A driver's window on the client: it logs through it and reads no environment of its own."""

    log: Logger = attrs.field(repr=False)
    environ: Mapping[str, str] = attrs.field(repr=False)
    """The client's environment when the driver was opened."""
    home: Path
    """The user's home directory."""
    storage_options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict, repr=False)
    """What the user said to stores' fsspec drivers, by URL scheme; credentials may be among it. A backend hands it to
    the pod as `FSSPEC_<SCHEME>` variables, never in an argument or an artifact."""
    options: RunOptions = attrs.field(factory=RunOptions, repr=False)
    """What a call gets that says nothing itself: variables, the active profile, defaults. A backend that looks for
    jobs without a call looks where these say."""
    collect: Callable[..., Mapping[str, Any]] = attrs.field(default=_nobody_answers, repr=False)
    """Calls a hook that the driver defined through `kinetic_add_hookspecs`, by its name and with its arguments;
    returns the answers that are not `None` by the plugin's name. The host puts it here."""
