"""Artifact Registry: repositories and the tags in them."""

import re
import threading
from typing import Any

from tests.fakes.google.problem import Problem, unserved

_URI = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>.+)/(?P<repository>[^/]+)/(?P<image>[^/:]+):(?P<tag>.+)"
)


class Registry:
    """All repositories, of every project."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._repositories: dict[str, set[str]] = {}
        self._operations: dict[str, int] = {}
        self.asked_before_done = 1
        """How often a creation is still going on when it is asked for."""
        self.failure = ""
        """Why repositories cannot be created in the end."""
        self.refusal = ""
        """Why nothing can be pushed."""

    def answer(self, method: str, parts: list[str], query: dict[str, str], body: Any) -> Any:
        match method, parts:
            case "POST", [*parent, "repositories"]:
                return self.create("/".join(parent), query["repositoryId"], body)
            case "GET", [*_, "operations", _]:
                return self.operation("/".join(parts))
            case "GET", [*_, "repositories", _]:
                return self.repository("/".join(parts))
            case "GET", [*repository, "packages", image, "tags", tag]:
                return self.tag("/".join(repository), image, tag)
            case _:
                raise unserved(method, parts)

    def create(self, parent: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("format") != "DOCKER":
            raise Problem(400, "format must be given")
        with self._lock:
            if f"{parent}/repositories/{name}" in self._repositories:
                raise Problem(409, "the repository already exists")
            self._operations[f"{parent}/operations/{name}"] = self.asked_before_done
            return {"name": f"{parent}/operations/{name}"}

    def operation(self, name: str) -> dict[str, Any]:
        with self._lock:
            if name not in self._operations:
                raise Problem(404, f"no operation {name}")
            self._operations[name] -= 1
            if self._operations[name] >= 0:
                return {"name": name}
            if self.failure:
                return {"name": name, "done": True, "error": {"code": 9, "message": self.failure}}
            repository = name.replace("/operations/", "/repositories/")
            self._repositories.setdefault(repository, set())
            return {"name": name, "done": True, "response": {"name": repository, "format": "DOCKER"}}

    def repository(self, name: str) -> dict[str, Any]:
        with self._lock:
            if name not in self._repositories:
                raise Problem(404, "Requested entity was not found.")
            return {"name": name, "format": "DOCKER"}

    def tag(self, repository: str, image: str, tag: str) -> dict[str, Any]:
        name = f"{repository}/packages/{image}/tags/{tag}"
        with self._lock:
            if name not in self._repositories.get(repository, ()):
                raise Problem(404, "Requested entity was not found.")
        return {"name": name, "version": f"{repository}/packages/{image}/versions/sha256:00"}

    def push(self, uri: str) -> str:
        """Store an image; return what stands against it."""
        found = _URI.fullmatch(uri)
        if found is None:
            return f"{uri!r} is no image of Artifact Registry"
        repository = f"projects/{found['project']}/locations/{found['location']}/repositories/{found['repository']}"
        with self._lock:
            if self.refusal:
                return self.refusal
            if repository not in self._repositories:
                return f'name unknown: Repository "{found["repository"]}" not found'
            self._repositories[repository].add(f"{repository}/packages/{found['image']}/tags/{found['tag']}")
        return ""
