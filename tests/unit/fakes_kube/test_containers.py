"""How a container is stopped; which signals it gets is the double's own affair."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.fakes.kube import container
from tests.fakes.kube.container import Container
from tests.fakes.kube.environment import Start
from tests.fakes.kube.log_file import LogFile
from tests.fakes.kube.waiting import until

POLITE = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("grace_s", "sent", "code"), [(0, [signal.SIGKILL], 137), (60, [signal.SIGTERM, signal.SIGKILL], 143)]
)
def test_only_who_is_given_time_is_asked_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grace_s: float, sent: list[int], code: int
) -> None:
    seen, send = [], container._signal

    def noting(group: int, number: int) -> None:
        seen.append(number)
        send(group, number)

    started, log = Start(command=[sys.executable, "-c", POLITE], env=dict(os.environ), folder=tmp_path), LogFile()
    polite = Container({"name": "c"}, log)
    polite.start(started, lambda: None)
    until(lambda: "ready" in log.last(100))
    monkeypatch.setattr(container, "_signal", noting)
    polite.stop(grace_s)
    assert polite.ended is not None
    assert polite.ended["exitCode"] == code
    # The last goes to what a process that ended left running.
    assert list(dict.fromkeys(seen)) == sent
