"""What a process has open: one client of each cluster, one view of each namespace, whoever asks."""

import atexit
import os
import threading
import time
from typing import Final

from kinetic_core.plugin import Logger
from kinetic_gke.cluster.access import Access
from kinetic_gke.cluster.client import Client
from kinetic_gke.cluster.namespace import Namespace
from kinetic_gke.cluster.preflight import Preflight

_lock = threading.Lock()
_clients: Final[dict[Access, Client]] = {}
_preflights: Final[dict[Access, Preflight]] = {}
_namespaces: Final[dict[tuple[Access, str], Namespace]] = {}

_LEAVE_S: Final = 2.0


def _begin_anew() -> None:
    """Forget, in a fork, what is the parent's: its connections, and locks that its threads may have held."""
    global _lock  # noqa: PLW0603 - made anew, in its place
    _lock = threading.Lock()
    for known in (_clients, _preflights, _namespaces):
        known.clear()


os.register_at_fork(after_in_child=_begin_anew)


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


def _leave() -> None:
    """Let the threads that watch and follow come to rest, now that the process ends."""
    deadline_s = time.monotonic() + _LEAVE_S
    for client in list(_clients.values()):
        client.leave(max(0.0, deadline_s - time.monotonic()))


def _client(access: Access, log: Logger) -> Client:
    if not _clients:
        # Once, however often: it is the same function.
        atexit.unregister(_leave)
        atexit.register(_leave)
    if access not in _clients:
        _clients[access] = Client(access, log)
    return _clients[access]
