"""What a process has open: one client of each cluster, one view of each namespace, whoever asks."""

import threading
from typing import Final

from kinetic_core.plugin import Logger
from kinetic_gke.cluster.access import Access
from kinetic_gke.cluster.client import Client
from kinetic_gke.cluster.namespace import Namespace
from kinetic_gke.cluster.preflight import Preflight

_lock: Final = threading.Lock()
_clients: Final[dict[Access, Client]] = {}
_preflights: Final[dict[Access, Preflight]] = {}
_namespaces: Final[dict[tuple[Access, str], Namespace]] = {}


def shared_client(access: Access, log: Logger) -> Client:
    """Return this process's client of a cluster."""
    with _lock:
        return _client(access, log)


def shared_preflight(access: Access, log: Logger) -> Preflight:
    """Return what this process knows of whether a cluster takes its jobs."""
    with _lock:
        if access not in _preflights:
            _preflights[access] = Preflight(_client(access, log))
        return _preflights[access]


def shared_namespace(access: Access, name: str, log: Logger) -> Namespace:
    """Return this process's view of a namespace: however many jobs it has there, they are watched once."""
    with _lock:
        found = _namespaces.get((access, name))
        if found is None:
            found = _namespaces[access, name] = Namespace(_client(access, log), name, log)
        return found


def close_clusters() -> None:
    """Close all that is open; who asks again opens it anew."""
    with _lock:
        namespaces, clients = list(_namespaces.values()), list(_clients.values())
        _namespaces.clear()
        _clients.clear()
        _preflights.clear()
    for namespace in namespaces:
        namespace.close()
    for client in clients:
        client.close()


def _client(access: Access, log: Logger) -> Client:
    if access not in _clients:
        _clients[access] = Client(access, log)
    return _clients[access]
