"""Options as this backend understands them: what it cannot do is told before a cluster is asked."""

from collections.abc import Callable, Iterator

from kinetic_core.errors import ConfigError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.accelerator import parse_accelerator
from kinetic_core.model.request import RunOptions
from kinetic_gke.accelerators import Hardware, hardware
from kinetic_gke.images import image_of, is_bundled
from kinetic_gke.manifest.names import check_labels
from kinetic_gke.manifest.site import Site
from kinetic_gke.settings import GkeSettings


def check(
    options: RunOptions, settings: GkeSettings, *, check_building: Callable[[RunOptions], None]
) -> Iterator[Finding]:
    """Yield what of the options cannot be done, each by itself.

    Args:
        options: Of the request.
        settings: Of the site.
        check_building: Refuses what no image can be built for.
    """
    unknown = [*_refused("accelerator_unknown", lambda: hardware_of(options))]
    yield from unknown
    if not is_bundled(options):
        yield from _refused("image_unusable", lambda: site_of(options, settings))
    elif not unknown:
        yield from _refused("image_unusable", lambda: check_building(options))
    yield from _refused("labels_unusable", lambda: check_labels(options.labels))
    if options.file_mounts:
        yield _finding("mounts_unsupported", "the GKE backend cannot mount files yet", "pass the files as kinetic.Data")
    scheme = (options.storage or "").partition("://")[0]
    if scheme == "memory":
        yield _finding(
            "store_process_local",
            f"the store {options.storage!r} lives in this process only, so no pod can read it",
            "name a bucket with storage= or KINETIC_STORAGE",
        )
    if scheme == "file":
        yield Finding(
            code="store_machine_local",
            severity=Severity.WARNING,
            message=f"the store {options.storage!r} lies on this machine: pods find it only where they see these files",
            remedy="name a bucket with storage= or KINETIC_STORAGE",
        )


def hardware_of(options: RunOptions) -> Hardware:
    """Return what the accelerator means here.

    Raises:
        ConfigError: It is not to be had.
    """
    return hardware(parse_accelerator(options.accelerator), spot=options.spot)


def site_of(options: RunOptions, settings: GkeSettings, built: str = "") -> Site:
    """Return the surroundings of a job.

    Args:
        options: Of the job.
        settings: Of the site.
        built: URI of the image that was built for it, if one was.

    Raises:
        ConfigError: Its image should have been built, or lacks the runner.
    """
    image = image_of(options, built)
    return settings.site(
        options, image=image.uri, is_ours=image.is_ours, installs_requirements=image.installs_requirements
    )


def _refused(code: str, call: Callable[[], object]) -> Iterator[Finding]:
    try:
        call()
    except ConfigError as error:
        yield _finding(code, str(error), "")


def _finding(code: str, message: str, remedy: str) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, message=message, remedy=remedy)
