"""A process ends between the requests of its daemon threads, and not within one."""

import subprocess
import sys
import threading

import pytest

from kinetic_gke.cluster.asking import Asking
from kinetic_gke.cluster.refusal import ClusterError

LEAVING = """
import threading, time
from kinetic.testing.log import RecordingLog
from kinetic_gke.cluster.access import Access
from kinetic_gke.cluster.sharing import shared_client

client, begun = shared_client(Access(context="ours"), RecordingLog()), threading.Event()

def ask():
    with client._asking.counted():
        begun.set()
        time.sleep(0.3)
        print("whole", flush=True)
    try:
        client.ask("ask again", None)
    except Exception as error:
        print(error, flush=True)
    time.sleep(60)

threading.Thread(target=ask, daemon=True).start()
begun.wait()
"""


def test_no_request_begins_once_it_is_over() -> None:
    asking = Asking()
    with asking.counted():
        pass
    asking.end(0)
    with pytest.raises(ClusterError, match="the process ends"), asking.counted():
        pass


def test_the_end_waits_for_what_has_begun_and_not_for_ever() -> None:
    asking = Asking()
    with asking.counted():
        asking.end(0.01)
        over = threading.Thread(target=asking.end, args=(60,))
        over.start()
        assert over.is_alive()
    over.join(60)
    assert not over.is_alive()


def test_a_process_that_leaves_lets_a_request_come_to_its_end() -> None:
    ended = subprocess.run([sys.executable, "-c", LEAVING], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[0] == "whole"
