"""The `Event` objects by which components tell what they do."""

from typing import Final

from tests.fakes.kube.objects import Obj, micro_now, now, suffix
from tests.fakes.kube.store import Key, Store

NODE: Final = "test-node"


class Recorder:
    """Writes events; the same news about the same object only raises its count."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str, str], Key] = {}

    def tell(
        self,
        obj: Obj,
        reason: str,
        message: str,
        *,
        component: str,
        warning: bool = False,
        field_path: str | None = None,
    ) -> None:
        """Record that something happened to the object."""
        metadata = obj["metadata"]
        news = (metadata["uid"], reason, message)
        known = self._known.get(news)
        if known is not None and self._store.update(known, _again) is not None:
            return
        key = Key("events", metadata.get("namespace") or "default", f"{metadata['name']}.{suffix(16)}")
        self._known[news] = key
        about = {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion") if name in metadata}
        involved: Obj = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], **about}
        if field_path:
            involved["fieldPath"] = field_path
        scheduling = component == "default-scheduler"
        source: Obj = {} if scheduling else {"component": component}
        if component == "kubelet":
            source["host"] = NODE
        event: Obj = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": None if scheduling else now(),
            "lastTimestamp": None if scheduling else now(),
            "type": "Warning" if warning else "Normal",
            "eventTime": micro_now() if scheduling else None,
            "reportingComponent": component,
            "reportingInstance": NODE if component == "kubelet" else "",
        }
        if scheduling:
            event["action"] = "Binding"
        else:
            event["count"] = 1
        self._store.create(key, event)


def _again(event: Obj) -> None:
    if event.get("lastTimestamp"):
        event["count"] += 1
        event["lastTimestamp"] = now()
    else:
        series = event.setdefault("series", {"count": 1})
        series["count"] += 1
        series["lastObservedTime"] = micro_now()
