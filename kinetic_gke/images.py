"""Images: which one a job runs in, and who made it."""

from importlib.metadata import version
from typing import Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.model.accelerator import parse_accelerator
from kinetic_core.model.request import RunOptions

PREBUILT: Final = "prebuilt"
BUNDLED: Final = "bundled"
_DISTRIBUTION: Final = "kinetic-run"


@attrs.frozen(kw_only=True)
class Image:
    """An image as a pod names it."""

    uri: str
    is_ours: bool
    """It has the runner, and a user that is not root."""
    installs_requirements: bool = False
    """The dependency file is installed when the pod starts."""


def image_of(options: RunOptions) -> Image:
    """Return the image that a job runs in.

    Raises:
        ConfigError: It would have to be built, which this release does not do.

    >>> image_of(RunOptions(accelerator="l4", container_image="prebuilt", base_image_repo="eu.gcr.io/acme")).uri[:28]
    'eu.gcr.io/acme/base-gpu:0.1.'
    """
    wanted = options.container_image or BUNDLED
    if wanted == PREBUILT:
        kind = parse_accelerator(options.accelerator).kind
        uri = f"{options.base_image_repo or 'kinetic'}/base-{kind}:{version(_DISTRIBUTION)}"
        return Image(uri=uri, is_ours=True, installs_requirements=True)
    if wanted == BUNDLED:
        raise ConfigError(
            "the GKE backend does not build images yet: name one with container_image=, as 'prebuilt' or as a URI"
        )
    return Image(uri=wanted, is_ours=False)
