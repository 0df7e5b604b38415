"""Which nodes a pod goes to, and what it asks of them."""

from collections.abc import Iterator
from typing import Any, Final

from kinetic_gke.accelerators import Hardware
from kinetic_gke.manifest.site import Site

_GPU: Final = "nvidia.com/gpu"
_TPU: Final = "google.com/tpu"
_SPOT: Final = "cloud.google.com/gke-spot"
_ARCHITECTURE: Final = "kubernetes.io/arch"
_CPU: Final = "1"
_MEMORY: Final = "2Gi"


def node_selector(hardware: Hardware) -> dict[str, str]:
    """Return the labels that a node must have."""
    labels = {}
    if hardware.kind == "gpu" and hardware.label:
        labels["cloud.google.com/gke-accelerator"] = hardware.label
    if hardware.kind == "tpu":
        labels["cloud.google.com/gke-tpu-accelerator"] = hardware.label
        labels["cloud.google.com/gke-tpu-topology"] = hardware.topology
    if hardware.arm:
        labels[_ARCHITECTURE] = "arm64"
    if hardware.spot:
        labels[_SPOT] = "true"
    return labels


def tolerations(hardware: Hardware) -> list[dict[str, str]]:
    """Return the taints of such nodes that the pod does not mind."""
    return list(_tolerations(hardware))


def resources(hardware: Hardware, site: Site) -> dict[str, Any]:
    """Return what one pod asks for; accelerators are limits too, as Kubernetes wants it."""
    name = {"cpu": "", "gpu": _GPU, "tpu": _TPU}[hardware.kind]
    devices = {name: str(hardware.per_host)} if name else {}
    alone = hardware.kind == "cpu"
    wanted = {"cpu": site.cpu or _CPU * alone, "memory": site.memory or _MEMORY * alone}
    asked: dict[str, Any] = {"requests": {key: value for key, value in wanted.items() if value} | devices}
    return asked | {"limits": devices} if devices else asked


def _tolerations(hardware: Hardware) -> Iterator[dict[str, str]]:
    if hardware.kind != "cpu":
        yield {"key": _GPU if hardware.kind == "gpu" else _TPU, "operator": "Exists", "effect": "NoSchedule"}
    for key, value, applies in ((_ARCHITECTURE, "arm64", hardware.arm), (_SPOT, "true", hardware.spot)):
        if applies:
            yield {"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}
