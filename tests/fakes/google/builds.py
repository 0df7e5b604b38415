"""Cloud Build: each build's steps really run here, with a `docker` that keeps what it is handed."""

import os
import re
import subprocess
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import attrs

from tests.fakes.google.problem import Problem, unserved
from tests.fakes.google.registry import Registry

BUCKET = "1234.cloudbuild-logs.googleusercontent.com"
_KNOWN = {"steps", "images", "tags", "timeout", "queueTtl", "options"}
_MOST_ARGUMENTS = 100
_MOST_CHARACTERS = 10_000
_FILTER = re.compile(r'tags="([\w.-]+)"')
_DOCKER = """\
#!/bin/sh
cat > context.tar.gz
echo "#1 [internal] load build definition"
if [ -n "$TROUBLE" ]; then
    i=0; while [ $i -lt 40 ]; do i=$((i + 1)); echo "#$i working"; done
    echo "$TROUBLE"
    exit 1
fi
echo "#9 naming to $4"
"""


@attrs.define(kw_only=True)
class Build:
    """One build, and where its steps ran."""

    raw: dict[str, Any]
    folder: Path
    log: bytes = b""

    @property
    def context(self) -> Path:
        """Return what docker was handed."""
        return self.folder / "context.tar.gz"


@attrs.define
class Builds:
    """All builds, of every project."""

    registry: Registry
    folder: Path
    made: list[Build] = attrs.field(factory=list, init=False)
    trouble: str = attrs.field(default="", init=False)
    """What docker says before it fails."""
    ending: str = attrs.field(default="", init=False)
    """How builds end without a fault of their own: `TIMEOUT`, `CANCELLED`."""
    lasts_s: float = attrs.field(default=0.0, init=False)
    """How long a build takes at least."""
    may_run: threading.Event = attrs.field(factory=threading.Event, init=False)
    """Builds wait for it in the queue."""

    def __attrs_post_init__(self) -> None:
        self.may_run.set()

    def answer(self, method: str, parts: list[str], query: dict[str, str], body: Any) -> Any:
        match method, parts:
            case "POST", [project, "builds"]:
                return self.create(project, body)
            case "GET", [project, "builds"]:
                return self.listed(project, query["filter"])
            case "GET", [project, "builds", build]:
                return self.read(project, build)
            case _:
                raise unserved(method, parts)

    def create(self, project: str, body: dict[str, Any]) -> dict[str, Any]:
        _check(body)
        build_id = str(uuid.uuid4())
        folder = self.folder / build_id
        folder.mkdir(parents=True)
        docker = folder / "docker"
        docker.write_text(_DOCKER, encoding="utf-8")
        docker.chmod(0o755)
        raw = {
            **body,
            "id": build_id,
            "projectId": project,
            "status": "QUEUED",
            "logsBucket": f"gs://{BUCKET}",
            "logUrl": f"https://console.example.com/builds/{build_id}",
        }
        build = Build(raw=raw, folder=folder)
        self.made.append(build)
        threading.Thread(target=self._run, args=(build,), daemon=True).start()
        return {"name": f"operations/build/{project}/{build_id}", "metadata": {"build": dict(raw)}}

    def read(self, project: str, build_id: str) -> dict[str, Any]:
        return dict(self._find(build_id, project).raw)

    def listed(self, project: str, wanted: str) -> dict[str, Any]:
        found = _FILTER.fullmatch(wanted)
        if found is None:
            raise Problem(400, f"invalid list filter: {wanted}")
        builds = [one.raw for one in reversed(self.made) if found[1] in one.raw["tags"]]
        builds = [dict(raw) for raw in builds if raw["projectId"] == project]
        return {"builds": builds} if builds else {}

    def log(self, name: str) -> bytes:
        return self._find(name.removeprefix("log-").removesuffix(".txt")).log

    def _find(self, build_id: str, project: str | None = None) -> Build:
        for build in self.made:
            if build.raw["id"] == build_id and project in {None, build.raw["projectId"]}:
                return build
        raise Problem(404, f"no build {build_id}")

    def _run(self, build: Build) -> None:
        self.may_run.wait()
        time.sleep(self.lasts_s)
        raw = build.raw
        if self.ending:
            raw["status"] = self.ending
            return
        raw["status"] = "WORKING"
        for number, step in enumerate(raw["steps"]):
            code = self._step(build, step)
            step["status"] = "FAILURE" if code else "SUCCESS"
            if code:
                detail = f'build step {number} "{step["name"]}" failed: step exited with non-zero status: {code}'
                raw["failureInfo"] = {"type": "USER_BUILD_STEP", "detail": detail}
                raw["statusDetail"] = detail
                raw["status"] = "FAILURE"
                return
        refusals = [refusal for refusal in map(self.registry.push, raw.get("images", ())) if refusal]
        if refusals:
            raw["failureInfo"] = {"type": "PUSH_FAILED", "detail": f"failed to push: {refusals[0]}"}
        raw["status"] = "FAILURE" if refusals else "SUCCESS"

    def _step(self, build: Build, step: dict[str, Any]) -> int:
        variables = dict(one.split("=", 1) for one in step.get("env", ()))
        environ = {"PATH": f"{build.folder}{os.pathsep}{os.environ['PATH']}", "TROUBLE": self.trouble, **variables}
        arguments = [one.replace("$$", "$") for one in step["args"]]
        ran = subprocess.run(
            [step["entrypoint"], *arguments],
            cwd=build.folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        build.log += ran.stdout
        return ran.returncode


def _check(body: dict[str, Any]) -> None:
    unknown = body.keys() - _KNOWN
    if unknown:
        raise Problem(400, f"Invalid JSON payload received. Unknown name {min(unknown)!r} at 'build'")
    for step in body["steps"]:
        arguments = step["args"]
        if len(arguments) > _MOST_ARGUMENTS or any(len(one) > _MOST_CHARACTERS for one in arguments):
            raise Problem(400, "invalid build: too many arguments, or too long ones")
        if any(re.search(r"\$\{?[A-Za-z_]", one.replace("$$", "")) for one in arguments):
            raise Problem(400, "generic::invalid_argument: key in the template is not a valid built-in substitution")
