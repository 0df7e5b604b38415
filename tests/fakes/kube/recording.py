"""The recordings of a real server, and what of them has to come out the same."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs

from tests.fakes.kube.objects import Obj

FOLDER: Final = Path(__file__).parents[2] / "golden" / "kube"
_GENERATED: Final = re.compile(r"^(.+)-[bcdfghjklmnpqrstvwxz2456789]{5}$")
# Written by this server's node only: a control group's limit, and how often a pod was looked at.
_FIRST_REFUSAL: Final = 400
_OF_THAT_NODE: Final = ("limits",)
Step: TypeAlias = tuple[Any, ...]


@attrs.frozen(kw_only=True)
class Exchange:
    """A request and its answer."""

    label: str
    method: str
    path: str
    content_type: str | None
    body: Any
    status: int
    answer_type: str
    answer: Any


@attrs.frozen(kw_only=True)
class Seen:
    """One event of a watch."""

    path: str
    happening: str
    object: Obj


def recorded(name: str) -> list[Exchange | Seen]:
    """Return what was recorded, in its order; how each watch ended is left out."""
    entries: list[Exchange | Seen] = []
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        entry = _entry(json.loads(line))
        if isinstance(entry, Exchange) and entries and _is_effect(entries[-1], entry):
            # The watch was quicker than the answer to the request whose effect it saw.
            entries.insert(-1, entry)
        elif entry is not None:
            entries.append(entry)
    return entries


def _entry(entry: Obj) -> Exchange | Seen | None:
    if "watch" not in entry:
        return Exchange(
            label=entry["label"],
            method=entry["method"],
            path=entry["path"],
            content_type=entry["content_type_sent"],
            body=entry["body"],
            status=entry["status"],
            answer_type=entry["content_type"],
            answer=entry["response"],
        )
    event = entry["event"]
    if not isinstance(event, dict) or event["type"] == "BOOKMARK":
        return None
    return Seen(path=entry["watch"], happening=event["type"], object=event["object"])


def _is_effect(entry: Exchange | Seen, request: Exchange) -> bool:
    if not isinstance(entry, Seen) or request.method == "GET" or request.status >= _FIRST_REFUSAL:
        return False
    named = request.path.partition("?")[0].rpartition("/")[2]
    if request.method == "POST":
        named = request.body["metadata"].get("name")
    return bool(entry.object["metadata"]["name"] == named)


def subject(obj: Obj) -> str:
    """Return which object it is, whatever end its name was given."""
    name = obj["metadata"]["name"]
    generated = obj["kind"] == "Pod" and _GENERATED.match(name)
    return f"{obj['kind']} {generated[1] if generated else name}"


def step(happening: str, obj: Obj) -> Step:
    """Return what of an event has to come in the recorded order."""
    metadata, status = obj["metadata"], obj.get("status", {})
    head = (happening, "deletionTimestamp" in metadata, tuple(metadata.get("finalizers") or ()))
    if obj["kind"] == "Job":
        # The recorded controller counts ready pods once a second at most, so that it may miss some.
        counts = tuple(status.get(name) for name in ("active", "terminating", "succeeded", "failed"))
        uncounted = {name: len(uids) for name, uids in (status.get("uncountedTerminatedPods") or {}).items()}
        conditions = tuple((each["type"], each["reason"]) for each in status.get("conditions") or [])
        labels = tuple(sorted(metadata.get("labels") or ()))
        return (*head, counts, tuple(sorted(uncounted.items())), conditions, labels, obj["spec"].get("suspend"))
    return (*head, status.get("phase"), "ownerReferences" in metadata, _states(status), _conditions(status))


def _states(status: Obj) -> tuple[Any, ...]:
    found = []
    for each in status.get("containerStatuses") or []:
        ((kind, state),) = each["state"].items()
        found.append((kind, state.get("reason"), state.get("exitCode"), each["ready"]))
    return tuple(found)


def _conditions(status: Obj) -> tuple[Any, ...]:
    return tuple(
        sorted((each["type"], each["status"], each.get("reason") or "") for each in status.get("conditions") or [])
    )


def steps(events: list[tuple[str, Obj]]) -> dict[str, list[Step]]:
    """Return each object's steps in order, without those that repeat the one before."""
    found: dict[str, list[Step]] = {}
    for happening, obj in events:
        taken = found.setdefault(subject(obj), [])
        new = step(happening, obj)
        if not taken or taken[-1] != new:
            taken.append(new)
    return found


def shape(value: Any) -> Any:
    """Return the names and types in a value, whatever stands there."""
    if isinstance(value, dict):
        names = (name for name in value if not _is_ours(name))
        return {name: shape(value[name]) for name in names if name not in _OF_THAT_NODE}
    if isinstance(value, list):
        merged: dict[str, Any] = {}
        plain: list[str] = []
        for each in value:
            found = shape(each)
            if isinstance(found, dict):
                merged |= found
            else:
                plain.append(str(found))
        return [merged] if merged else sorted(set(plain))
    return type(value).__name__


def _is_ours(name: str) -> bool:
    return name in {"managedFields", "storageVersionHash"}


def differences(wanted: Any, found: Any, path: str = "") -> Iterator[str]:
    """Yield where two shapes differ."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for name in sorted({*wanted, *found}):
            if name not in found:
                yield f"{path}.{name} is missing"
            elif name not in wanted:
                yield f"{path}.{name} is too much"
            else:
                yield from differences(wanted[name], found[name], f"{path}.{name}")
    elif isinstance(wanted, list) and isinstance(found, list) and wanted and found:
        yield from differences(wanted[0], found[0], f"{path}[]")
    elif wanted != found:
        yield f"{path} is {found!r}, not {wanted!r}"
