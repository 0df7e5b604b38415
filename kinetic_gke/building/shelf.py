"""The shelf: where in Artifact Registry the images of a project lie, and what they are called there."""

import re
from typing import Final

import attrs

REPOSITORY: Final = "kinetic"
_ZONE: Final = re.compile(r"(?P<region>.+)-[a-z]")


@attrs.frozen(kw_only=True)
class Shelf:
    """The place of the images of one kind.

    >>> Shelf(project="acme", location="europe-west4", image="bundled-gpu").uri("0f3a")
    'europe-west4-docker.pkg.dev/acme/kinetic/bundled-gpu:0f3a'
    """

    project: str
    location: str
    """A region."""
    image: str

    def uri(self, tag: str) -> str:
        """Return the URI of an image; a project that belongs to a domain is written with a slash."""
        return f"{self.location}-docker.pkg.dev/{self.project.replace(':', '/')}/{REPOSITORY}/{self.image}:{tag}"

    @property
    def parent(self) -> str:
        """Return the resource that the repository belongs to."""
        return f"projects/{self.project}/locations/{self.location}"


def region_of(zone: str) -> str:
    """Return the region of a zone; a region is its own.

    >>> region_of("us-central1-a"), region_of("europe-west4")
    ('us-central1', 'europe-west4')
    """
    found = _ZONE.fullmatch(zone)
    return found["region"] if found else zone
