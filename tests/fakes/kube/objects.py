"""API objects as the server keeps them: JSON that nobody changes in place but under the store's hand."""

import datetime as dt
import secrets
import uuid
from typing import Any, TypeAlias

# What Kubernetes itself draws the ends of pod names from: no vowels, nothing that looks like another.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

Obj: TypeAlias = dict[str, Any]


def now() -> str:
    """Return the time as the API writes it: seconds, UTC."""
    return stamp(dt.datetime.now(dt.UTC))


def stamp(moment: dt.datetime) -> str:
    """Return the moment as the API writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_now() -> str:
    """Return the time as events and logs write it: microseconds, UTC."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(text: str) -> float:
    """Return a timestamp of the API as seconds since the epoch."""
    return dt.datetime.fromisoformat(text).timestamp()


def new_uid() -> str:
    """Return a fresh object identity."""
    return str(uuid.uuid4())


def suffix(length: int = 5) -> str:
    """Return the random end of a generated name."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def generated(prefix: str) -> str:
    """Return a name made of a `generateName` prefix, cut so that it stays within 63 characters."""
    return prefix[:58] + suffix()


def name_of(obj: Obj) -> str:
    """Return the object's name."""
    return str(obj["metadata"]["name"])


def labels_of(obj: Obj) -> dict[str, str]:
    """Return the object's labels, empty where it has none."""
    return obj["metadata"].get("labels") or {}


def is_deleted(obj: Obj) -> bool:
    """Tell whether somebody asked for the object to go."""
    return "deletionTimestamp" in obj["metadata"]


def controller_of(obj: Obj) -> Obj | None:
    """Return the owner reference of the object's controller."""
    owners: list[Obj] = obj["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def condition(obj: Obj, kind: str) -> Obj | None:
    """Return the object's condition of that type."""
    conditions: list[Obj] = obj.get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), None)


def holds(obj: Obj, kind: str) -> bool:
    """Tell whether the condition of that type is true of the object."""
    found = condition(obj, kind)
    return found is not None and found["status"] == "True"


def set_condition(obj: Obj, new: Obj) -> None:
    """Put the condition in place of the one of its type, or last."""
    conditions: list[Obj] = obj.setdefault("status", {}).setdefault("conditions", [])
    for index, each in enumerate(conditions):
        if each["type"] == new["type"]:
            conditions[index] = new
            return
    conditions.append(new)
