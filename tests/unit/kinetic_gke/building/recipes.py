"""Recipes of every kind, and the files that they come to."""

from pathlib import Path

from kinetic_gke.building.recipe import DOCKERFILE, Recipe

GOLDEN = Path(__file__).parents[3] / "golden/building"
DEPENDENCIES = "numpy>=2\nflax @ git+https://example.com/flax.git\n"
CASES = {
    "cpu": Recipe(kind="cpu", python="3.12", version="0.1.0", dependencies=DEPENDENCIES),
    "cpu-bare": Recipe(kind="cpu", python="3.11", version="0.1.0"),
    "gpu": Recipe(kind="gpu", python="3.12", version="0.1.0", dependencies=DEPENDENCIES),
    "tpu": Recipe(kind="tpu", python="3.13", version="0.2.0", dependencies=DEPENDENCIES),
    "cpu-s3": Recipe(kind="cpu", python="3.12", version="0.1.0", extras=("gcs", "s3")),
}


def written(recipe: Recipe) -> str:
    """Return the text of a golden file: the tag is part of it, so that no image is built anew by accident."""
    return f"# {recipe.tag}\n{recipe.files[DOCKERFILE]}"


def main() -> None:
    """Write the golden files anew; look at the difference before you commit it."""
    for name, recipe in CASES.items():
        GOLDEN.joinpath(f"{name}.Dockerfile").write_text(written(recipe), encoding="utf-8")


if __name__ == "__main__":
    main()
