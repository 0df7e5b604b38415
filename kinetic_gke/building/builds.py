"""Cloud Build: builds that run, joined or started, and waited for; and why one failed."""

import time
from collections.abc import Iterator
from typing import Final

import attrs

from kinetic_core.errors import SubmissionError
from kinetic_gke.building.google import Google, Json, Wish
from kinetic_gke.building.order import QUEUE_S, TIMEOUT_S, mark, order
from kinetic_gke.building.recipe import Recipe
from kinetic_gke.building.services import Services
from kinetic_gke.cluster.refusal import Refusal

_ROLE: Final = "roles/cloudbuild.builds.editor"
_OPEN: Final = frozenset(("STATUS_UNKNOWN", "PENDING", "QUEUED", "WORKING"))
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 10.0
_GROWTH: Final = 1.3
_SLACK_S: Final = 300.0
_LINES: Final = 30
_LOG_BYTES: Final = 20_000
_ENDINGS: Final = {
    "TIMEOUT": f"it took longer than {TIMEOUT_S} s",
    "EXPIRED": f"it waited in the queue for longer than {QUEUE_S} s; try again later",
    "CANCELLED": "somebody cancelled it",
    "INTERNAL_ERROR": "Cloud Build itself failed; try again",
}


@attrs.frozen(kw_only=True)
class Builds:
    """The builds of one project."""

    google: Google
    services: Services

    def make(self, uri: str, recipe: Recipe) -> None:
        """Have an image built and wait until it is there; where it is being built already, wait for that.

        Raises:
            ConfigError: The dependency file is too long.
            SubmissionError: Cloud Build says no, or the build fails; then with the end of its log.
        """
        wanted = order(uri, recipe)
        wish = self._wish("start a build")
        # Looked for before each attempt: the answer to one may be lost, and the build run all the same.
        build = self.google.patiently(wish, lambda: self._running(wish, uri, recipe) or self._started(wish, wanted))
        log_url = str(build.get("logUrl", ""))
        self.google.log.warning(
            "image_build_awaited",
            image=uri,
            build=build["id"],
            message="the image is being built, once for these dependencies; that takes minutes",
            remedy=f"see its log: {log_url}" if log_url else "",
        )
        build = self._ended(build)
        if build["status"] != "SUCCESS":
            raise SubmissionError(f"the image {uri} could not be built: {self._why(build)}")
        self.google.log.info("image_built", image=uri, build=build["id"])

    def _running(self, wish: Wish, uri: str, recipe: Recipe) -> Json | None:
        params = {"filter": f'tags="{mark(recipe)}"', "pageSize": "20"}
        found = self.google.once(wish, self._path, params=params).get("builds", ())
        return next((one for one in found if one["status"] in _OPEN and uri in one.get("images", ())), None)

    def _started(self, wish: Wish, wanted: Json) -> Json:
        build: Json = self.google.once(wish, self._path, body=wanted)["metadata"]["build"]
        return build

    def _ended(self, build: Json) -> Json:
        deadline_s = time.monotonic() + TIMEOUT_S + QUEUE_S + _SLACK_S
        pause_s = _FIRST_PAUSE_S
        while build["status"] in _OPEN:
            if time.monotonic() > deadline_s:
                raise SubmissionError(f"the build {build['id']} does not end; look at {build.get('logUrl', 'it')}")
            time.sleep(pause_s)
            pause_s = min(pause_s * _GROWTH, _LONGEST_PAUSE_S)
            build = self.google.ask(self._wish("show a build"), f"{self._path}/{build['id']}")
        return build

    def _why(self, build: Json) -> str:
        return "".join(self._reasons(build))

    def _reasons(self, build: Json) -> Iterator[str]:
        told = (build.get("failureInfo") or {}).get("detail") or build.get("statusDetail") or ""
        failed = next((step for step in build.get("steps", ()) if step.get("status") == build["status"]), None)
        yield f"the step {failed.get('id') or failed['name']!r} of the build failed" if failed else "the build failed"
        cause = _ENDINGS.get(build["status"], told)
        yield f" ({cause})" if cause else ""
        if build.get("logUrl"):
            yield f"; its log: {build['logUrl']}"
        lines = self._last_lines(build)
        if lines:
            yield f"\nThe last lines of the log:\n{lines}"

    def _last_lines(self, build: Json) -> str:
        """Return the end of the log; nothing where it may not be read: the failure is what has to be told."""
        bucket, _, folder = build.get("logsBucket", "").removeprefix("gs://").partition("/")
        name = f"{folder}/log-{build['id']}.txt".lstrip("/")
        try:
            text = self.google.end_of(self.services.storage, bucket, name, size_bytes=_LOG_BYTES) if bucket else ""
        except Refusal as refusal:
            self.google.log.info("build_log_unread", build=build["id"], error=str(refusal))
            return ""
        return "\n".join(text.splitlines()[-_LINES:])

    @property
    def _path(self) -> str:
        return f"v1/projects/{self.google.project}/builds"

    def _wish(self, what: str) -> Wish:
        return Wish(service=self.services.builds, what=what, role=_ROLE)
