"""Telling observers what happens to a job; none can harm the job or another observer."""

from threading import Lock

import attrs

from kinetic.host.calls import Calls, Implementation
from kinetic_core.plugin import JobEvent, JobRef, Logger

_HOOK = "kinetic_job_event"


@attrs.define(kw_only=True, eq=False, repr=False)
class Observers:
    """All plugins that want to know."""

    calls: Calls
    log: Logger = attrs.field(repr=False)
    _failed: set[str] = attrs.field(factory=set, init=False)
    _lock: Lock = attrs.field(factory=Lock, init=False, repr=False)

    def notify(self, event: JobEvent, job: JobRef) -> None:
        """Tell every observer, each on its own; a failing one is reported at its first failure only."""
        for observer in self.calls.implementations(_HOOK):
            try:
                self.calls.call(observer, {"event": event, "job": job})
            except Exception as error:  # noqa: BLE001 - an observer may fail in any way
                self._report(observer, event, error)

    def _report(self, observer: Implementation, event: JobEvent, error: Exception) -> None:
        plugin = observer.origin.plugin
        with self._lock:
            first = plugin not in self._failed
            self._failed.add(plugin)
        report = self.log.warning if first else self.log.debug
        cause = error.__cause__ or error
        report(
            "observer_failed",
            plugin=plugin,
            distribution=observer.origin.distribution,
            hook=_HOOK,
            event_kind=event.kind,
            job_id=event.job_id,
            message=f"the plugin {plugin!r} could not be told of {event.kind}: {type(cause).__name__}: {cause}",
            remedy=f"the job goes on; leave the plugin out with KINETIC_DISABLE_PLUGINS={plugin}",
        )
