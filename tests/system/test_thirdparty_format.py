"""A stranger's serialization format, really built and installed: on the client alone, and in the pod's image too."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests/thirdparty_format"
HALVES = ("pyproject.toml", "kinetic_literal/plugin.py", "kinetic_literal/pod.py")

JOB = """
import sys

import kinetic


@kinetic.run(accelerator="cpu", backend="local", serialization="literal")
def pairs(words, wanted):
    return {(word, len(word)) for word in words if word in wanted}, words


@kinetic.run(accelerator="cpu", backend="local", serialization="literal")
def fail():
    raise LookupError("no such sample")


@kinetic.run(accelerator="cpu", backend="local", serialization="literal")
def unspeakable():
    return [object]


if __name__ == "__main__":
    try:
        print("home:", pairs(("a", "bc"), {"bc"}))
        fail()
    except Exception as error:
        print("home:", type(error).__name__, error)
    try:
        unspeakable()
    except Exception as error:
        print("home:", type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def client_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the distribution: `PYTHONPATH` leads the client there, and does not reach the pod."""
    target = tmp_path_factory.mktemp("format") / "site"
    command = ["pip", "install", "--offline", "--no-deps", "--no-build-isolation", "--python", sys.executable]
    cache = ["--cache-dir", str(target.parent / "cache")]
    subprocess.run([sys.executable, "-m", "uv", *command, *cache, "--target", str(target), str(SOURCE)], check=True)
    return target


@pytest.fixture(scope="module")
def both(client_only: Path) -> Path:
    """Return an interpreter, for client and pod, that has the distribution beside all that this one has."""
    home = client_only.parent / "image"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", home], check=True)
    scheme = {"base": str(home), "platbase": str(home)}
    site = Path(sysconfig.get_path("purelib", "venv", scheme))
    folders = [client_only, sysconfig.get_path("purelib")]
    lines = [f"import site; site.addsitedir({str(folder)!r})" for folder in folders]
    (site / "beside.pth").write_text("\n".join(lines) + "\n")
    return home / "bin/python"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "job.py").write_text(JOB)
    (folder / "requirements.txt").write_text("")
    return folder


def run(python: Path | str, project: Path, **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [python, "job.py"],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(project.parent), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_job_goes_out_and_comes_home_in_a_strangers_format(both: Path, project: Path, tmp_path: Path) -> None:
    store = {"KINETIC_STORAGE": (tmp_path / "store").as_uri()}
    ended = run(both, project, KINETIC_ALLOWED_SERIALIZATION="literal", **store)

    assert ended.returncode == 0, ended.stderr
    value, error, refused = [line for line in ended.stdout.splitlines() if line.startswith("home: ")]
    assert value == "home: ({('bc', 2)}, ('a', 'bc'))"
    assert error == "home: RemoteError LookupError: no such sample"
    assert "returned a value that cannot travel: TypeError: the result is no Python literal" in refused
    left = {path.name for path in (tmp_path / "store").rglob("*") if path.name.startswith(("payload", "result"))}
    assert left == {"payload.literal", "result.literal"}


def test_it_is_refused_unless_it_is_named(both: Path, project: Path) -> None:
    ended = run(both, project)

    refusal = "Serialization format 'literal' not allowed. Allowed formats: ['json', 'pickle']"
    assert refusal in ended.stdout
    assert not list(project.parent.rglob("payload*"))


def test_a_pod_that_lacks_it_says_so_and_names_what_it_knows(client_only: Path, project: Path) -> None:
    ended = run(
        sys.executable, project, PYTHONPATH=str(client_only), KINETIC_ALLOWED_SERIALIZATION="literal,json,pickle"
    )

    assert "JobFailedError" in ended.stdout
    assert "names the unknown format '.literal'; known formats: ['json', 'pickle']" in ended.stdout


@pytest.mark.parametrize("name", HALVES)
def test_the_documentation_shows_it_as_it_stands(name: str) -> None:
    page = (ROOT / "docs/reference/hooks.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"`([\w/.]+)`:\n\n```\w+\n(.*?)```", page, flags=re.DOTALL))
    source = (SOURCE / name).read_text(encoding="utf-8")
    assert shown[name].rstrip() in source
    assert source.endswith(shown[name])
