"""Transfers of a real job on a real store, held on their way until the test has seen how they are shown."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs
import pytest

from tests.contract.conftest import Place, Servers, cloudy_place
from tests.fakes.project import Project
from tests.fakes.servers.proxy import Proxy, Rule
from tests.fakes.terminal import at_a_terminal

SCRIPT: Final = """
    import json, sys, kinetic, sizes
    if __name__ == "__main__":
        print(json.dumps(sizes.add.run_async(kinetic.Data("tree")).result()))
"""
FILES: Final = 30


def slow_uploads() -> Rule:
    """Hold all but the first ten files."""
    return Rule(fault="held", method="POST", path="uploadType=media", skip=10, times=99)


@attrs.frozen(kw_only=True)
class Held:
    """A project whose store is behind a proxy."""

    project: Project
    place: Place
    proxy: Proxy
    environ: dict[str, str]


@pytest.fixture
def held(servers: Servers, tmp_path: Path) -> Iterator[Held]:
    place = cloudy_place("gs", servers, tmp_path)
    assert place.proxy is not None
    project = Project(tmp_path)
    project.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    project.write(
        "sizes.py",
        """
        import pathlib, kinetic

        @kinetic.run(accelerator="cpu")
        def add(tree):
            return sum(path.stat().st_size for path in pathlib.Path(tree).iterdir())
        """,
    )
    for number in range(FILES):
        project.write(f"tree/{number}", "x" * 100_000)
    for folder in (project.home, project.temp):
        folder.mkdir()
    environ = {
        "HOME": str(project.home),
        "TMPDIR": str(project.temp),
        "KINETIC_BACKEND": "local",
        **place.environ(),
    }
    # Whatever is asked of the store beforehand is not held: it passes, and is not asked again for some minutes.
    project.run("import sizes; sizes.add.run_async('.').result()", environ=environ)
    yield Held(project=project, place=place, proxy=place.proxy, environ=environ)
    place.proxy.break_()


def test_many_small_files_and_a_result_have_one_bar_each(held: Held) -> None:
    held.proxy.break_(slow_uploads())
    with at_a_terminal(SCRIPT, cwd=held.project.root, environ=held.environ) as screen:
        screen.wait_for("upload of tree")
        screen.wait_for("1.0/3.0 MB")
        held.proxy.break_(Rule(fault="held", method="GET", path=r"result\.pkl\?alt=media", times=99))
        screen.wait_for("download of result.pkl")
        held.proxy.break_()
        out, shown = screen.end()
    assert json.loads(out) == FILES * 100_000
    assert "3.0/3.0 MB" in shown
    assert shown.count("\r\n") <= 2


def test_without_a_terminal_each_is_one_line_at_the_level_of_stages(held: Held) -> None:
    held.proxy.break_(slow_uploads())
    process = held.project.start(SCRIPT, environ=held.environ | {"KINETIC_LOG_LEVEL": "info"})
    try:
        while held.proxy.count("POST", "uploadType=media") <= 10:
            assert process.poll() is None
            time.sleep(0.05)
        # The upload has begun before, so by its own clock it takes longer than a second.
        time.sleep(1.1)
        held.proxy.break_()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert json.loads(out) == FILES * 100_000
    lines = [line.partition("kinetic.transfers: ")[2] for line in err.splitlines() if "kinetic.transfers" in line]
    assert [line.partition(" duration_s=")[0] for line in lines if "'tree'" in line] == [
        f"upload_finished what='tree' files={FILES} size_bytes={FILES * 100_000}"
    ]
