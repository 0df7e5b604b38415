"""Other versions on the pod than at the client, with real interpreters on both sides."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from tests.system.runner.artifacts import ROOT, Bench

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
OTHERS = [version for version in ("3.11", "3.12", "3.13") if version != HERE]

# A client with nothing but cloudpickle, as any of the same contract would write its payload.
CLIENT = """
import platform, sys
import cloudpickle

class Demanding:
    def __reduce__(self):
        return int, ("no number",)

namespace = {"__name__": "__main__", "__file__": "/home/ann/proj/train.py"}
exec(compile(SOURCE, "/home/ann/proj/train.py", "exec"), namespace)
function = {"by_reference": len, "by_value": namespace["f"], "broken": Demanding()}[sys.argv[1]]
payload = {"func": function, "args": ("abc",), "kwargs": {}, "env_vars": {}}
versions = {"python": platform.python_version(), "cloudpickle": cloudpickle.__version__, "kinetic": "0"}
if sys.argv[2] == "first":
    payload = {"client_fingerprint": versions, **payload}
else:
    payload["client_fingerprint"] = versions
with open(sys.argv[3], "wb") as stream:
    cloudpickle.dump(payload, stream, protocol=5)
print(platform.python_version())
"""
SOURCE = """
def helper(xs, *, k=2):
    try:
        return {i: [j for j in range(i)] for i in xs if i % k}
    except ValueError as error:
        raise KeyError("x") from error
def f(text):
    with open("/dev/null") as stream:
        return helper(range(len(text))), f"{text!r}", (lambda a: a + text)("x")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with cloudpickle alone, for interpreters that have none."""
    folder = tmp_path_factory.mktemp("library")
    folder.joinpath("cloudpickle").symlink_to(Path(cloudpickle.__file__).parent)
    return folder


def interpreter(version: str) -> str:
    """Return the program of that version; skip the test where there is none."""
    if version == HERE:
        return sys.executable
    found = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    root = os.environ.get("PYENV_ROOT")
    found += sorted(Path(root, "versions").glob(f"{version}.*/bin/python")) if root else []
    if not found:
        pytest.skip(f"no Python {version} here")
    return str(found[-1])


PAIRS = [pair for other in OTHERS for pair in ((HERE, other), (other, HERE))]


class Pair:
    """A client and a pod of different versions."""

    def __init__(self, bench: Bench, library: Path, client: str, pod: str) -> None:
        self._bench, self._library, self._client, self._pod = bench, library, interpreter(client), interpreter(pod)
        self.client_version = ""

    def run(self, kind: str, fingerprint: str = "first") -> Any:
        """Let the client write a payload and the pod run it."""
        bench = self._bench
        arguments = bench.write()
        path = str(bench.folder / "theirs.pkl")
        ran = subprocess.run(
            [self._client, "-c", f"SOURCE = {SOURCE!r}\n{CLIENT}", kind, fingerprint, path],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(self._library)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        self.client_version = ran.stdout.strip()
        at = arguments.index("--payload-sha256")
        del arguments[at : at + 2]
        bench.write = lambda: arguments  # type: ignore[method-assign]
        environ = {"PYTHONPATH": f"{ROOT}:{self._library}"}
        return bench.run("--payload", bench.uri("theirs.pkl"), env=environ, python=self._pod)

    def told(self) -> str:
        """Return how the difference reads, up to the pod's patch level."""
        pod = subprocess.run(
            [self._pod, "-c", "import platform; print(platform.python_version())"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        return f"client Python {self.client_version} / pod Python {pod}"


@pytest.fixture(params=PAIRS, ids=[f"client-{client}-pod-{pod}" for client, pod in PAIRS])
def pair(request: pytest.FixtureRequest, bench: Bench, library: Path) -> Pair:
    bench.files["train.py"] = SOURCE
    bench.payload = {"func": len, "args": (), "kwargs": {}}
    return Pair(bench, library, *request.param)


def test_a_payload_that_does_not_load_names_both_sides(pair: Pair) -> None:
    failure = pair.run("broken").failure
    assert failure["phase"] == "payload unpickle"
    assert pair.told() in str(failure["exception"])
    assert "no number" in str(failure["exception"])


def test_both_sides_are_in_the_log_before_anything_of_the_payload_is_loaded(pair: Pair) -> None:
    ran = pair.run("by_value")
    assert pair.told() in ran.err
    before, _, _ = ran.err.partition("environment setup")
    assert pair.told() in before


@pytest.mark.parametrize("fingerprint", ["first", "last"])
def test_bytecode_of_another_python_is_refused_before_it_crashes_the_interpreter(pair: Pair, fingerprint: str) -> None:
    ran = pair.run("by_value", fingerprint)
    assert ran.failure["phase"] == "payload unpickle"
    assert pair.told() in str(ran.failure["exception"])
    assert "bytecode" in str(ran.failure["exception"])


def test_a_payload_that_loads_runs_with_one_warning_also_where_the_fingerprint_stands_last(pair: Pair) -> None:
    ran = pair.run("by_reference", "last")
    assert ran.value == 3
    assert ran.err.count(pair.told()) == 1
    assert pair.told() in ran.err.partition("environment setup")[0]
