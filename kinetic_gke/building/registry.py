"""Artifact Registry: which images are there, and a repository for those to come."""

import time
from typing import Final

import attrs

from kinetic_core.errors import SubmissionError
from kinetic_gke.building.answers import CONFLICT
from kinetic_gke.building.google import Google, Json, Wish
from kinetic_gke.building.services import Service
from kinetic_gke.building.shelf import REPOSITORY, Shelf
from kinetic_gke.cluster.refusal import Refusal

_READER: Final = "roles/artifactregistry.reader"
_ADMIN: Final = "roles/artifactregistry.admin"
_LONGEST_S: Final = 120.0
_PAUSE_S: Final = 1.0


@attrs.frozen(kw_only=True)
class Registry:
    """The images of one shelf."""

    google: Google
    service: Service
    shelf: Shelf

    def has(self, tag: str) -> bool:
        """Tell whether an image of this tag is there.

        Raises:
            SubmissionError: The registry says no.
        """
        path = f"v1/{self._repository}/packages/{self.shelf.image}/tags/{tag}"
        return self.google.find(self._wish("show an image", _READER), path) is not None

    def make_ready(self) -> None:
        """Create the repository, unless it is there.

        Raises:
            SubmissionError: The registry says no, or does not come to an end.
        """
        if self.google.find(self._wish("show a repository", _READER), f"v1/{self._repository}") is not None:
            return
        hint = (
            f"{_ADMIN}, or have it created with: gcloud artifacts repositories create {REPOSITORY} "
            f"--repository-format docker --location {self.shelf.location} --project {self.shelf.project}"
        )
        wish = self._wish(f"create the repository {REPOSITORY!r}", hint)
        operation = self.google.patiently(wish, lambda: self._create(wish))
        deadline_s = time.monotonic() + _LONGEST_S
        while not operation.get("done"):
            if time.monotonic() > deadline_s:
                raise SubmissionError(f"{self.service.name} has not created {self._repository} within {_LONGEST_S:g} s")
            time.sleep(_PAUSE_S)
            operation = self.google.ask(wish, f"v1/{operation['name']}")
        if "error" in operation:
            message = operation["error"].get("message")
            raise SubmissionError(f"{self.service.name} did not create {self._repository}: {message}")

    def _create(self, wish: Wish) -> Json:
        """Ask for the repository; another client may have been faster."""
        body = {"format": "DOCKER", "description": "Images of kinetic-run jobs"}
        path = f"v1/{self.shelf.parent}/repositories"
        try:
            return self.google.once(wish, path, body=body, params={"repositoryId": REPOSITORY})
        except Refusal as refusal:
            if refusal.status == CONFLICT:
                return {"done": True}
            raise

    @property
    def _repository(self) -> str:
        return f"{self.shelf.parent}/repositories/{REPOSITORY}"

    def _wish(self, what: str, role: str) -> Wish:
        return Wish(service=self.service, what=what, role=role)
