"""Images: which one a job runs in, and who made it."""

from importlib.metadata import version
from typing import Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.model.accelerator import parse_accelerator
from kinetic_core.model.request import RunOptions

PREBUILT: Final = "prebuilt"
BUNDLED: Final = "bundled"
USER_ID: Final = 65532
"""The user of our images, who is not root; the number is customary."""
DISTRIBUTION: Final = "kinetic-run"


@attrs.frozen(kw_only=True)
class Image:
    """An image as a pod names it."""

    uri: str
    is_ours: bool
    """It has the runner, and a user that is not root."""
    installs_requirements: bool = False
    """The dependency file is installed when the pod starts."""


def is_bundled(options: RunOptions) -> bool:
    """Tell whether a job runs in an image that is built for it."""
    return options.container_image in {None, BUNDLED}


def image_of(options: RunOptions, built: str = "") -> Image:
    """Return the image that a job runs in.

    Args:
        options: The job's.
        built: URI of the image that was built for it, if one was.

    Raises:
        ConfigError: One should have been.

    >>> image_of(RunOptions(accelerator="l4", container_image="prebuilt", base_image_repo="eu.gcr.io/acme")).uri[:28]
    'eu.gcr.io/acme/base-gpu:0.1.'
    """
    wanted = options.container_image or BUNDLED
    if is_bundled(options):
        if not built:
            raise ConfigError(
                "no image was built for this job: name one with container_image=, as 'prebuilt' or as a URI"
            )
        return Image(uri=built, is_ours=True)
    if wanted == PREBUILT:
        kind = parse_accelerator(options.accelerator).kind
        uri = f"{options.base_image_repo or 'kinetic'}/base-{kind}:{version(DISTRIBUTION)}"
        return Image(uri=uri, is_ours=True, installs_requirements=True)
    return Image(uri=wanted, is_ours=False)
