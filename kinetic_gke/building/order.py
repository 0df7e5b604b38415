"""The order: what Cloud Build is asked to do."""

import base64
import gzip
import io
import tarfile
from collections.abc import Mapping
from typing import Any, Final

from kinetic_core.errors import ConfigError
from kinetic_gke.building.recipe import Recipe

TIMEOUT_S: Final = 3600
"""How long a build may run."""
QUEUE_S: Final = 3600
"""How long it may wait before that."""
STEP: Final = "image"
_BUILDER: Final = "gcr.io/cloud-builders/docker"
# Cloud Build takes 100 arguments of 10,000 characters.
_PIECE: Final = 9_000
_MOST_PIECES: Final = 95


def order(uri: str, recipe: Recipe) -> dict[str, Any]:
    """Return the body of the request that has an image built and stored.

    The files travel in it, so that no bucket is needed, and nobody's right to read one.

    Args:
        uri: Of the image, with its tag.
        recipe: Of the image.

    Raises:
        ConfigError: The dependency file is too long for that.
    """
    text = base64.b64encode(_archive(recipe.files)).decode()
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    if len(pieces) > _MOST_PIECES:
        raise ConfigError(
            f"the dependency file, {len(recipe.dependencies)} characters, is too long for a build; shorten it, for "
            "example by leaving hashes out, or build an image yourself and name it with container_image="
        )
    # `$$` is Cloud Build's way to write a dollar sign.
    script = f'set -o pipefail; printf %s "$$@" | base64 --decode | docker build --progress=plain --tag {uri} -'
    step = {
        "id": STEP,
        "name": _BUILDER,
        "entrypoint": "bash",
        "env": ["DOCKER_BUILDKIT=1"],
        "args": ["-c", script, STEP, *pieces],
    }
    return {
        "steps": [step],
        "images": [uri],
        "tags": ["kinetic", mark(recipe)],
        "timeout": f"{TIMEOUT_S}s",
        "queueTtl": f"{QUEUE_S}s",
    }


def mark(recipe: Recipe) -> str:
    """Return the tag by which a build of this recipe is found; several registries may be filled from one recipe."""
    return f"kinetic-{recipe.tag}"


def _archive(files: Mapping[str, str]) -> bytes:
    """Return a compressed tar file, the same for the same files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in sorted(files.items()):
            content = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)
