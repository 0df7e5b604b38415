"""The recipe of an image: what it is made of, and the tag that follows from that."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import attrs

from kinetic_gke.images import USER_ID

DOCKERFILE: Final = "Dockerfile"
DEPENDENCIES: Final = "requirements.txt"
_FOLDER: Final = "/opt/kinetic"
_PIP: Final = f"{_FOLDER}/bin/python -m pip install --no-cache-dir --compile"
_TAG_DIGITS: Final = 32
_JAX: Final[Mapping[str, str]] = {"cpu": "jax", "gpu": "jax[cuda12]", "tpu": "jax[tpu]"}
# Where nodes with GPUs put their driver into containers.
_DRIVER: Final = "/usr/local/nvidia"


@attrs.frozen(kw_only=True)
class Recipe:
    r"""All that an image depends on; equal recipes are one image.

    >>> recipe = Recipe(kind="cpu", python="3.12", version="0.1.0", dependencies="numpy>=2\n")
    >>> recipe.tag == attrs.evolve(recipe).tag, recipe.tag == attrs.evolve(recipe, python="3.13").tag
    (True, False)
    """

    kind: Literal["cpu", "gpu", "tpu"]
    """Which JAX it has."""
    python: str
    """Minor version, the client's: `3.12`."""
    version: str
    """Of kinetic-run."""
    extras: tuple[str, ...] = ("gcs",)
    """Of kinetic-run: the drivers of stores."""
    dependencies: str = attrs.field(default="", repr=False)
    """One requirement or option a line. It may name an index, and with it a password."""

    @property
    def tag(self) -> str:
        """Return the tag: a hash of the files, in which all the rest stands."""
        written = json.dumps(self.files, sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()[:_TAG_DIGITS]

    @property
    def files(self) -> dict[str, str]:
        """Return what the image is built from, by name."""
        files = {DOCKERFILE: "".join(f"{line}\n" for line in self._lines())}
        return files | {DEPENDENCIES: self.dependencies} if self.dependencies else files

    def _lines(self) -> Iterator[str]:
        """Yield the lines of the Dockerfile.

        It is built where there are compilers and git, and runs where there are none. What the user asks for comes
        first and stays as it is: his file may hold hashes, which would then be wanted of everything beside it.
        """
        yield f"FROM python:{self.python} AS build"
        yield f"RUN python -m venv {_FOLDER}"
        if self.dependencies:
            yield f"COPY {DEPENDENCIES} /build/"
            yield f"RUN {_PIP} -r /build/{DEPENDENCIES}"
        yield f"RUN {_FOLDER}/bin/python -m pip list --format=freeze --exclude kinetic-run > /tmp/installed.txt \\"
        ours = f"'kinetic-run[{','.join((*self.extras, 'debug'))}]=={self.version}' '{_JAX[self.kind]}'"
        yield f" && {_PIP} -c /tmp/installed.txt {ours}"
        yield ""
        yield f"FROM python:{self.python}-slim"
        yield f"RUN groupadd --gid {USER_ID} kinetic \\"
        yield f" && useradd --no-log-init --create-home --uid {USER_ID} --gid {USER_ID} kinetic \\"
        # The standard library comes without its bytecode, and the pod's user may not write any.
        yield f" && (python -m compileall -q -j 0 /usr/local/lib/python{self.python} || true)"
        yield f"COPY --from=build {_FOLDER} {_FOLDER}"
        yield f"ENV PATH={_FOLDER}/bin:$PATH"
        if self.kind == "gpu":
            yield f"ENV PATH=$PATH:{_DRIVER}/bin LD_LIBRARY_PATH={_DRIVER}/lib64"
        yield f"USER {USER_ID}:{USER_ID}"
        yield "WORKDIR /home/kinetic"
