"""The cluster as a process: `python -m tests.fakes.kube FOLDER`; it ends, with all its pods, when its input does."""

import json
import shutil
import signal
import sys
import threading
from pathlib import Path

from tests.fakes.kube.access import MASTERS, User
from tests.fakes.kube.certificates import make_context
from tests.fakes.kube.control_plane import ControlPlane
from tests.fakes.kube.leftovers import sweep
from tests.fakes.kube.pace import Pace
from tests.fakes.kube.server import Server


def main(folder: Path) -> None:
    """Serve until standard input is closed, by whoever started this or by that one's death."""
    # Inherited by the pods: as process 1 of a container, a program without a handler ignores it.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Not inherited: a program in a pod is interrupted as anywhere.
    signal.signal(signal.SIGINT, lambda *_: None)
    options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
    plane = ControlPlane(root=folder, pace=Pace(**options["pace"]), rotate_every=options["rotate_every"])
    server = Server(plane, make_context(folder / "ca.pem"))
    token = plane.access.issue(User("admin", (MASTERS, "system:authenticated")))
    plane.start()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    print(json.dumps({"port": server.server_address[1], "token": token}), flush=True)
    sys.stdin.read()
    plane.stop()
    sweep(folder)
    # Whoever started this may be gone.
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
