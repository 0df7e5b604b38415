"""The services of Google that make and keep images, and where they answer."""

from collections.abc import Mapping
from typing import Final

import attrs

_OVERRIDE: Final = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"


@attrs.frozen(kw_only=True)
class Service:
    """One API."""

    name: str
    """For a person."""
    api: str
    """As it is enabled in a project."""
    url: str

    @classmethod
    def of(cls, name: str, api: str, environ: Mapping[str, str]) -> "Service":
        """Return a service at its address, or at the one that gcloud's own variable gives."""
        url = environ.get(f"{_OVERRIDE}{api.partition('.')[0].upper()}") or f"https://{api}/"
        return cls(name=name, api=api, url=url.rstrip("/"))


@attrs.frozen(kw_only=True)
class Services:
    """What is asked to make an image.

    >>> Services.from_environ({"CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBUILD": "http://127.0.0.1:8080/"}).builds.url
    'http://127.0.0.1:8080'
    """

    builds: Service
    registry: Service
    storage: Service
    """Has the logs of builds."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "Services":
        """Read the addresses from gcloud's variables; by default they are Google's."""
        return cls(
            builds=Service.of("Cloud Build", "cloudbuild.googleapis.com", environ),
            registry=Service.of("Artifact Registry", "artifactregistry.googleapis.com", environ),
            storage=Service.of("Cloud Storage", "storage.googleapis.com", environ),
        )
