"""What a process has open is not its forks': their parent's threads may have held its locks."""

import os
import threading
import warnings

from kinetic.testing.log import RecordingLog
from kinetic_gke.cluster import sharing
from kinetic_gke.cluster.access import Access
from kinetic_gke.cluster.sharing import close_clusters, shared_client

OURS = Access(context="ours")


def test_a_fork_has_clients_of_its_own_and_waits_for_no_lock_of_its_parents() -> None:
    log = RecordingLog()
    client = shared_client(OURS, log)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with sharing._lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os._exit(0 if shared_client(OURS, log) is not client else 1)
        done_by = threading.Timer(30, os.kill, (child, 9))
        done_by.start()
        _, status = os.waitpid(child, 0)
        done_by.cancel()
    finally:
        done.set()
        thread.join()
        close_clusters()
    assert os.waitstatus_to_exitcode(status) == 0
