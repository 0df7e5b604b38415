"""The contract kit as a stranger uses it: the documented plugin, the sample, and drivers that break a promise."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Final

import pytest

from kinetic import testing
from kinetic.testing import PluginContract, StorageContract
from tests.fakes.plugin_site import PluginSite
from tests.system.test_documentation import build

PAGE: Final = "how-to/test-a-plugin.md"
SAMPLE: Final = Path(__file__).parents[1] / "thirdparty"
# The plugin comes by its entry point where the distribution is installed anew; here it must not come twice.
ASKED: Final = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-W", "error", "-rf")


def ask(file: Path, *paths: Path) -> "subprocess.CompletedProcess[str]":
    """Run the tests of a file in a process of its own, with more on the import path."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [sys.executable, *ASKED, str(file)],
        cwd=file.parent,
        env={**kept, "HOME": str(file.parent), "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_documented_plugin_passes_and_is_short(tmp_path: Path) -> None:
    build(PAGE, tmp_path)
    source = (tmp_path / "kinetic_inline.py").read_text()
    code = [line for line in source.splitlines() if line and not line.startswith(("import", "from", '"""'))]
    assert len(code) <= 40
    PluginSite(tmp_path).metadata("kinetic-inline", {"inline": "kinetic_inline"})
    (tmp_path / "pyproject.toml").unlink()
    ended = ask(tmp_path / "test_inline.py", tmp_path)
    assert ended.returncode == 0, ended.stdout
    assert " passed" in ended.stdout


def test_the_sample_passes(tmp_path: Path) -> None:
    PluginSite(tmp_path).metadata("kinetic-foreground", {"foreground": "kinetic_foreground.plugin"})
    (tmp_path / "test_contract.py").write_text((SAMPLE / "contract.py").read_text())
    ended = ask(tmp_path / "test_contract.py", tmp_path, SAMPLE)
    assert ended.returncode == 0, ended.stdout


BROKEN: Final = """
    import attrs, pytest
    from kinetic.testing import RecordingLog, StorageContract, StorePlace
    from kinetic_core.plugin import DriverContext, StorageDriver
    from kinetic_fsspec.file import FileStorage
    from pathlib import Path

    class Careless(FileStorage):
        def put_if_absent(self, data, key):
            self.put_bytes(data, key)
            return True

        def list(self, prefix=""):
            return (attrs.evolve(found, modified_s=0.0) for found in super().list(prefix))

    class TestCareless(StorageContract):
        EXPECTED

        @pytest.fixture
        def place(self, tmp_path):
            driver = StorageDriver(
                name="file", schemes=("file",), open=lambda url, context: Careless(Path(url.removeprefix("file://")))
            )
            context = DriverContext(log=RecordingLog(), environ={}, home=tmp_path)
            return StorePlace(url=f"file://{tmp_path}/store", driver=driver, context=context)
"""
FAILS: Final = {
    "test_put_if_absent_stores_once",
    "test_one_of_many_threads_wins_put_if_absent",
    "test_a_listing_tells_when_objects_changed",
}


def failed(ended: "subprocess.CompletedProcess[str]") -> set[str]:
    lines = [line for line in ended.stdout.splitlines() if line.startswith("FAILED")]
    return {line.partition("::TestCareless::")[2].partition(" ")[0].partition("[")[0] for line in lines}


def careless(folder: Path, expected: str) -> Path:
    file = folder / "test_careless.py"
    file.write_text(textwrap.dedent(BROKEN).replace("EXPECTED", expected))
    return file


def test_a_store_that_breaks_a_promise_fails_that_test_and_shows_values(tmp_path: Path) -> None:
    ended = ask(careless(tmp_path, "pass"))
    assert ended.returncode == 1
    assert failed(ended) == FAILS
    assert "assert 0.0 > 1600000000" in ended.stdout


def test_what_is_expected_to_fail_must_fail(tmp_path: Path) -> None:
    expected = dict.fromkeys(sorted(FAILS), "it does not care")
    assert ask(careless(tmp_path, f"expected_failures = {expected!r}")).returncode == 0
    wrong = {**expected, "test_an_empty_object_exists": "it does"}
    assert failed(ask(careless(tmp_path, f"expected_failures = {wrong!r}"))) == {"test_an_empty_object_exists"}


def test_no_test_of_a_contract_can_be_replaced() -> None:
    with pytest.raises(TypeError, match="Mine replaces test_an_empty_object_exists"):
        type("Mine", (StorageContract,), {"test_an_empty_object_exists": lambda _: None})


def test_an_expected_failure_that_is_no_test_is_told() -> None:
    with pytest.raises(TypeError, match="did you mean 'test_the_host_accepts_it'"):
        type("Mine", (PluginContract,), {"expected_failures": {"test_the_host_accept_it": "why"}})


def test_what_must_be_overridden_says_so(tmp_path: Path) -> None:
    for name, fixture in (("Storage", "place"), ("Backend", "driver"), ("Reference", "reference_type")):
        file = tmp_path / f"test_{fixture}.py"
        file.write_text(f"from kinetic.testing import {name}Contract\nclass TestMine({name}Contract): pass\n")
        assert f"override the fixture `{fixture}`" in ask(file).stdout


def test_the_fixtures_keep_a_test_away_from_its_caller(tmp_path: Path) -> None:
    file = tmp_path / "test_mine.py"
    file.write_text(
        textwrap.dedent("""
        import os, pathlib
        from kinetic.testing.fixtures import *

        def test_it(kinetic_home, kinetic_log, kinetic_context):
            assert pathlib.Path.home() == kinetic_home == kinetic_context.home
            assert not [name for name in os.environ if name.startswith("KINETIC_")]
            kinetic_context.log.warning("seen", at=1)
            assert kinetic_log.events("warning") == ["seen"]
            assert kinetic_log.records[0].details == {"at": 1}
        """)
    )
    kept = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KINETIC_BACKEND": "elsewhere"}
    ended = subprocess.run(
        [sys.executable, *ASKED, str(file)], cwd=tmp_path, env=kept, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout


def test_the_pytest_plugin_loads_nothing_that_a_coverage_would_miss() -> None:
    loaded = "import sys, kinetic.testing.fixtures; print([one for one in sys.modules if one.startswith('kinetic_')])"
    ended = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_the_kit_has_what_it_says_and_nothing_else() -> None:
    assert [name for name in testing.__all__ if getattr(testing, name).__name__ != name] == []
    assert set(testing.__all__) <= set(dir(testing))
    with pytest.raises(AttributeError, match="no attribute 'StoreContract'"):
        testing.StoreContract  # noqa: B018 - asking for it is the test
