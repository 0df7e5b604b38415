"""A running test cluster as a test sees it: a kubeconfig, and a hand on what Kubernetes has no API for."""

import json
import select
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import attrs

from tests.fakes.kube.leftovers import sweep
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.pace import Pace

ROOT: Final = Path(__file__).parents[3]
START_S: Final = 60
Disruption: TypeAlias = Literal["oom", "evict", "shutdown", "preempt"]
PodFault: TypeAlias = Literal["unschedulable", "image_pull", "mount", "config", "quota", "admission", "oom"]


@attrs.frozen(kw_only=True)
class Cluster:
    """Where the cluster is and who may do everything in it."""

    folder: Path
    port: int
    token: str = attrs.field(repr=False)

    @property
    def url(self) -> str:
        """Return the API server's address."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def authority(self) -> Path:
        """Return the file with the certificate authority."""
        return self.folder / "ca.pem"

    @property
    def buckets(self) -> Path:
        """Return the folder whose folders are the buckets that pods mount."""
        return self.folder / "buckets"

    def kubeconfig(
        self, path: Path, *, user: str | None = None, token: str | None = None, namespace: str = "default"
    ) -> Path:
        """Write a kubeconfig (JSON, which is YAML) for the administrator, or for a user who may do what roles say."""
        token = token or (self.token if user is None else self.act("token", user=user))
        name = f"test-{self.port}"
        config: Obj = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": self.url, "certificate-authority": str(self.authority)}}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}],
        }
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        return path

    def act(self, name: str, **body: Any) -> Any:
        """Have the cluster do one of the things of `Control`."""
        return json.loads(self.call("POST", f"/double/{name}", body))["result"]

    def call(self, method: str, path: str, body: Obj | None = None) -> bytes:
        """Return what the API server answers the administrator, to its last byte.

        Raises:
            HTTPError: It refuses.
        """
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        context = ssl.create_default_context(cafile=str(self.authority))
        with urllib.request.urlopen(request, context=context, timeout=60) as reply:
            found: bytes = reply.read()
        return found

    def fail_requests(self, **rule: Any) -> None:
        """Let requests go wrong; `Faults.add` says how."""
        self.act("fail-requests", **rule)

    def fail_pods(self, kind: PodFault, **rule: Any) -> None:
        """Let pods go wrong: `pod` (a regular expression on its or its Job's name), `times`, `message`, `after_s`."""
        self.act("fail-pods", kind=kind, **rule)

    def bring(self, pattern: str, *, programs: Path | None = None, env: dict[str, str] | None = None) -> None:
        """Let the images whose names match bring another folder of programs, and variables, until `heal`."""
        given = {} if programs is None else {"programs": str(programs)}
        self.act("image", pattern=pattern, env=env or {}, **given)

    def heal(self) -> None:
        """Let everything go well again, and all images be alike."""
        self.act("clear")

    def disrupt(self, pod: str, how: Disruption, *, namespace: str = "default") -> None:
        """End a running pod from outside."""
        self.act("disrupt", pod=pod, how=how, namespace=namespace)

    def requests(self, **wanted: str | int) -> list[Obj]:
        """Return the requests answered so far whose fields are the ones given; `path` need only occur."""
        path = str(wanted.pop("path", ""))
        found: list[Obj] = self.act("requests")
        return [
            each
            for each in found
            if path in each["path"] and all(each[name] == value for name, value in wanted.items())
        ]


@contextmanager
def running_cluster(*, pace: Pace | None = None, rotate_every: int = 1_000_000) -> Iterator[Cluster]:
    """Run a cluster in a process of its own; nothing of it is left in the end, nor when this process is killed."""
    # Short, for sockets in it; resolved, for the sweep of what is left.
    folder = Path(tempfile.mkdtemp(prefix="kube-")).resolve()
    options = {"pace": attrs.asdict(pace or Pace()), "rotate_every": rotate_every}
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    with (folder / "server.log").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.kube", str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    try:
        yield Cluster(folder=folder, **_greeting(process, folder))
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(30)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            sweep(folder)
            shutil.rmtree(folder, ignore_errors=True)


def _greeting(process: "subprocess.Popen[bytes]", folder: Path) -> dict[str, Any]:
    pipe = process.stdout
    assert pipe is not None
    ready, _, _ = select.select([pipe], [], [], START_S)
    line = pipe.readline() if ready else b""
    if not line:
        told = (folder / "server.log").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"the test cluster did not start: {told}")
    found: dict[str, Any] = json.loads(line)
    return found
