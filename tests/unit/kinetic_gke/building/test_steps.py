"""The steps of an image, done: pip and Python run as they would in a build, with packages that are made here."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from kinetic_gke.building.recipe import DOCKERFILE, Recipe
from tests.fakes.dockerfile import Builder, Stage, StepError, write_context
from tests.fakes.wheels import write_sdist, write_wheel
from tests.unit.kinetic_gke.building.recipes import CASES

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
VENV = "/opt/kinetic"
OURS = """\
Provides-Extra: gcs
Provides-Extra: debug
Requires-Dist: attrs>=2
Requires-Dist: gcsfs; extra == "gcs"
Requires-Dist: debugpy; extra == "debug"
"""
SHOW = "import importlib.metadata as m; print(*sorted(f'{d.name}=={d.version}' for d in m.distributions()))"


@attrs.define
class Bench:
    """An index of packages, and builds that know no other."""

    folder: Path
    wheels: Path
    builder: Builder | None = None

    def build(self, dependencies: str, **wanted: str) -> Stage:
        """Build an image with these dependencies.

        Raises:
            StepError: A step failed.
        """
        recipe = Recipe(**{"kind": "cpu", "python": PYTHON, "version": "9", "dependencies": dependencies, **wanted})  # type: ignore[arg-type]  # words of a recipe
        stdlib = f"/usr/local/lib/python{PYTHON}"
        context = self.folder / "context"
        self.builder = Builder(
            context=context,
            work=self.folder / "stages",
            paths=("/build", "/opt/kinetic", stdlib),
            environ={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        )
        return self.builder.build(write_context(recipe.files, context))

    def installed(self, image: Stage) -> set[str]:
        """Return what is installed, but the installers themselves."""
        assert self.builder is not None
        found = self.builder.run(image, "python", "-c", SHOW).split()
        return {one for one in found if one.partition("==")[0] not in {"pip", "setuptools"}}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    write_wheel(wheels, "kinetic_run", version="9", metadata=OURS)
    for name in ("attrs", "gcsfs", "debugpy", "jax", "listed"):
        for version in ("1", "2", "3"):
            provided = "Provides-Extra: cuda12\nRequires-Dist: plugin; extra == 'cuda12'\n" if name == "jax" else ""
            write_wheel(wheels, name, version=version, text=f"VERSION = {version}\n", metadata=provided)
    write_wheel(wheels, "plugin")
    return Bench(tmp_path, wheels)


@pytest.mark.parametrize("name", CASES)
def test_a_real_parser_and_its_linter_have_nothing_to_say(name: str) -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    text = CASES[name].files[DOCKERFILE]
    told = subprocess.run([hadolint, "--no-color", "-"], input=text, capture_output=True, check=False, text=True)
    assert (told.stdout, told.stderr, told.returncode) == ("", "", 0)


@pytest.mark.slow
def test_an_image_has_what_was_asked_for_the_runner_beside_it_and_nothing_of_how_it_came(bench: Bench) -> None:
    write_sdist(bench.wheels, "compiled", before_building="print('compiling')")
    index = "--extra-index-url https://me:hunter2@packages.invalid/simple\n"
    image = bench.build(f"{index}listed<3\nattrs==2\njax==1\ncompiled\n")
    asked = {"listed==2", "attrs==2", "jax==1", "compiled==1"}
    assert bench.installed(image) == asked | {"kinetic_run==9", "gcsfs==3", "debugpy==3"}
    builder = bench.builder
    assert builder is not None
    assert builder.run(image, "python", "-c", "import listed; print(listed.VERSION)") == "2\n"
    for module in ("listed", "kinetic_run"):
        assert list(image.place(VENV).rglob(f"site-packages/__pycache__/{module}.*.pyc")) != []
    assert image.user == "65532:65532"
    assert "kinetic" in Path(f"{image.place('/home/kinetic')}.noted").read_text()
    assert [stage.base for stage in builder.stages.values()] == [f"python:{PYTHON}", f"python:{PYTHON}-slim"]

    assert "hunter2" in builder.stages["build"].place("/build/requirements.txt").read_text()
    assert "hunter2" not in "".join(builder.ran)
    assert [path for path in image.root.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()] == []


@pytest.mark.slow
def test_an_image_without_a_dependency_file_has_the_runner(bench: Bench) -> None:
    assert bench.installed(bench.build("")) == {"kinetic_run==9", "jax==3", "attrs==3", "gcsfs==3", "debugpy==3"}


@pytest.mark.slow
def test_a_gpu_image_has_what_jax_needs_for_it_and_options_of_pip_in_the_file_count(bench: Bench) -> None:
    more = bench.folder / "more"
    more.mkdir()
    write_wheel(more, "private", version="5")
    write_wheel(more, "listed", version="4rc1")
    image = bench.build(f"--find-links {more}\n--pre\nprivate\nlisted\n", kind="gpu")
    assert {"jax==3", "plugin==1", "private==5", "listed==4rc1"} <= bench.installed(image)
    assert image.env["LD_LIBRARY_PATH"] == "/usr/local/nvidia/lib64"
    assert image.env["PATH"].startswith("/opt/kinetic/bin:")


@pytest.mark.slow
def test_hashes_in_the_file_are_wanted_of_what_it_lists_and_of_nothing_else(bench: Bench) -> None:
    (wheel,) = bench.wheels.glob("listed-2-*")
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    image = bench.build(f"listed==2 --hash=sha256:{found}\n")
    assert {"listed==2", "kinetic_run==9"} <= bench.installed(image)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dependencies", "told"),
    [
        (f"listed==2 --hash=sha256:{'0' * 64}\n", "DO NOT MATCH THE HASHES"),
        ("attrs==1\n", "(?s)kinetic-run.*depends on attrs>=2.*attrs==1"),
    ],
    ids=["hash", "conflict"],
)
def test_what_cannot_be_fails_the_build_and_says_why(bench: Bench, dependencies: str, told: str) -> None:
    with pytest.raises(StepError, match=told):
        bench.build(dependencies)
