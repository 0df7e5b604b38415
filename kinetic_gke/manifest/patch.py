"""What a site's plugins change about a pod, and what they may not."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kinetic_core.errors import ConfigError
from kinetic_gke.manifest.pod import WORKER

_NODES_OWN: Final = ("hostIPC", "hostNetwork", "hostPID")


def merge_patch(target: Any, patch: Any) -> Any:
    """Return the target as a JSON merge patch (RFC 7396) changes it; neither is touched.

    >>> merge_patch({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": [3]}})
    {'b': {'c': 2, 'd': [3]}}
    """
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def patched_job(job: Mapping[str, Any], patches: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Job whose pod template has been patched.

    Args:
        job: As made from the spec.
        patches: Merge patches of the template by the name of the plugin; applied in the order of the names.

    Raises:
        ConfigError: A patch is no mapping, or the pod became one that is never sent; the plugins are named.
    """
    made = copy.deepcopy(dict(job))
    for plugin in sorted(patches):
        if not isinstance(patches[plugin], Mapping):
            kind = type(patches[plugin]).__name__
            raise ConfigError(
                f"plugin {plugin!r}: kinetic_gke_patch_pod must return a mapping, a merge patch of the pod template, "
                f"and it returned an object of type {kind}"
            )
        made["spec"]["template"] = merge_patch(made["spec"]["template"], patches[plugin])
        problems = list(_problems(made["spec"]["template"]))
        if problems:
            raise ConfigError(
                f"plugin {plugin!r}: the pod as kinetic_gke_patch_pod changed it is never sent, for "
                f"{'; '.join(problems)}"
            )
    return made


def _problems(template: Mapping[str, Any]) -> Iterator[str]:
    pod = template.get("spec")
    if not isinstance(pod, Mapping):
        yield "it has no spec"
        return
    yield from (f"it has {name}" for name in _NODES_OWN if pod.get(name))
    if pod.get("restartPolicy") != "Never":
        yield "its restartPolicy is not Never"
    containers = [one for kind in ("initContainers", "containers") for one in _mappings(pod.get(kind))]
    for container in containers:
        security = container.get("securityContext")
        if isinstance(security, Mapping) and (security.get("privileged") or security.get("allowPrivilegeEscalation")):
            yield f"its container {container.get('name')!r} may gain privileges"
    workers = [one for one in _mappings(pod.get("containers")) if one.get("name") == WORKER]
    if len(workers) != 1 or not workers[0].get("command") or not workers[0].get("args"):
        yield f"its container {WORKER!r}, with command and args, is gone; lists are replaced whole"


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list | tuple) else []
