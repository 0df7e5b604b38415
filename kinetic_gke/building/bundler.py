"""The bundler: sees to it that jobs which name no image have one with what they need."""

import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.model.accelerator import parse_accelerator
from kinetic_core.model.package import Package
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import Logger
from kinetic_gke.building.builds import Builds
from kinetic_gke.building.google import find_credentials, open_google
from kinetic_gke.building.ongoing import begin
from kinetic_gke.building.recipe import Recipe
from kinetic_gke.building.registry import Registry
from kinetic_gke.building.services import Services
from kinetic_gke.building.shelf import Shelf, region_of
from kinetic_gke.images import DISTRIBUTION
from kinetic_gke.options import hardware_of
from kinetic_gke.settings import GkeSettings

_EXTRAS: Final = {"s3": "s3", "s3a": "s3", "abfs": "azure", "abfss": "azure", "az": "azure"}
"""What opens a store, by its scheme."""


@attrs.frozen(kw_only=True)
class Bundler:
    """Makes images with Google's services, each once."""

    settings: GkeSettings
    services: Services
    log: Logger = attrs.field(repr=False)

    def check(self, options: RunOptions) -> None:
        """See whether an image can be made for a job; no service is asked yet.

        Raises:
            ConfigError: No project is named, the accelerator's machines are no x86, or there are no credentials.
        """
        if hardware_of(options).arm:
            raise ConfigError(
                f"images are built for x86 machines, and those with {options.accelerator!r} are Arm: name an image "
                "with container_image="
            )
        self._shelf(options)
        find_credentials()

    def begin(self, options: RunOptions, package: Package) -> Callable[[], str]:
        """Begin to make the image of a package's jobs, and return what waits for it and returns its URI.

        Raises:
            ConfigError: No project is named.
        """
        shelf = self._shelf(options)
        recipe = Recipe(
            kind=parse_accelerator(options.accelerator).kind,
            python=f"{sys.version_info.major}.{sys.version_info.minor}",
            version=version(DISTRIBUTION),
            extras=_extras(options.storage or ""),
            dependencies=package.dependencies or "",
        )
        return begin((self.services, shelf, recipe), lambda: self._made(shelf, recipe))

    def _made(self, shelf: Shelf, recipe: Recipe) -> str:
        uri = shelf.uri(recipe.tag)
        with open_google(shelf.project, self.log) as google:
            registry = Registry(google=google, service=self.services.registry, shelf=shelf)
            if registry.has(recipe.tag):
                self.log.info("image_found", image=uri)
            else:
                registry.make_ready()
                Builds(google=google, services=self.services).make(uri, recipe)
        return uri

    def _shelf(self, options: RunOptions) -> Shelf:
        project = options.project or self.settings.project
        if not project:
            raise ConfigError(
                "an image has to be built, and no project is named to build it in: set project= or KINETIC_PROJECT, "
                "or name an image with container_image=, as 'prebuilt' or as a URI"
            )
        location = region_of(options.zone or self.settings.zone)
        return Shelf(project=project, location=location, image=f"bundled-{parse_accelerator(options.accelerator).kind}")


def _extras(store: str) -> tuple[str, ...]:
    """Return what the pod needs to reach its store; data in Google's buckets it can always read."""
    extra = _EXTRAS.get(store.partition("://")[0])
    return ("gcs",) if extra is None else ("gcs", extra)
