"""Uploads of `Data` to real stores that are killed, meet another of the same, or find a part of it gone."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from kinetic.references import DataHandler
from kinetic.testing.log import RecordingLog
from kinetic_core.plugin import DriverContext, Storage
from kinetic_core.references.data import Data
from tests.contract.conftest import Place, Servers, cloudy_place
from tests.contract.stores import CLOUDY
from tests.fakes.servers.proxy import Proxy, Rule
from tests.fakes.servers.stores import CLOUDS

FILES: Final = 40
WRITES: Final = "PUT|POST"
# A client in a process of its own; it says whether it was the one that uploaded.
CLIENT: Final = """
import json, pathlib, sys
from kinetic.references import DataHandler
from kinetic.testing.log import RecordingLog
from kinetic_core.plugin import DriverContext
from kinetic_core.references.data import Data
from tests.contract.stores import open_store
tree, url, home, options = sys.argv[1:]
handler = DataHandler(DriverContext(log=RecordingLog(), environ={}, home=pathlib.Path(home)))
print(handler.stage(Data(tree), open_store(url, pathlib.Path(home), json.loads(options))))
"""


@attrs.frozen(kw_only=True)
class Site:
    """A directory, and the store that it goes to."""

    tree: Path
    place: Place
    proxy: Proxy
    store: Storage

    def start(self) -> "subprocess.Popen[str]":
        options = json.dumps(CLOUDS[self.place.scheme].options(self.proxy.address))
        return subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(self.tree), self.place.url, str(self.place.home), options],
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_for_writes(self, count: int, *running: "subprocess.Popen[str]") -> None:
        while self.proxy.count(WRITES) < count:
            assert not [process for process in running if process.poll() is not None]
            time.sleep(0.02)

    def stage(self) -> bool:
        context = DriverContext(log=RecordingLog(), environ={}, home=self.place.home)
        return DataHandler(context).stage(Data(self.tree), self.store)

    def held(self) -> dict[str, bytes]:
        """Return what the store holds of the directory, by name."""
        folder = f"cache/{Data(self.tree).content_hash()}"
        found = (one.key for one in self.store.list(folder))
        return {key.removeprefix(f"{folder}/"): self.store.get_bytes(key) for key in found}

    def is_marked(self) -> bool:
        return self.store.exists(f"cache/{Data(self.tree).content_hash()}.complete")


@pytest.fixture(params=CLOUDY)
def site(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> Any:
    place = cloudy_place(request.param, servers, tmp_path)
    assert place.proxy is not None
    tree = tmp_path / "tree"
    for number in range(FILES):
        (tree / f"{number % 3}").mkdir(parents=True, exist_ok=True)
        (tree / f"{number % 3}/{number}").write_text(f"content of {number}")
    return Site(tree=tree, place=place, proxy=place.proxy, store=place.open())


def whole(site: Site) -> dict[str, bytes]:
    return {str(file.relative_to(site.tree)): file.read_bytes() for file in site.tree.rglob("*") if file.is_file()}


def test_a_killed_upload_counts_for_nothing_and_is_done_again(site: Site) -> None:
    site.proxy.break_(Rule(fault="mute", method=WRITES, skip=FILES // 2, times=999))
    process = site.start()
    site.wait_for_writes(FILES // 2 + 1, process)
    process.kill()
    process.communicate()
    assert process.returncode == -9
    site.proxy.break_()
    assert 0 < len(site.held()) < FILES
    assert not site.is_marked()
    assert site.stage()
    assert site.held() == whole(site)
    assert site.is_marked()
    assert not site.stage()


def test_two_processes_that_upload_the_same_at_once_both_succeed(site: Site) -> None:
    site.proxy.break_(Rule(fault="held", method=WRITES, times=999))
    processes = [site.start(), site.start()]
    # Each sends eight at once; so both are in the midst of it.
    site.wait_for_writes(16, *processes)
    site.proxy.break_()
    assert [process.communicate(timeout=60)[0] for process in processes] == ["True\n"] * 2
    assert site.held() == whole(site)
    assert not site.stage()


@pytest.mark.parametrize("gone", ["1/1", "marker"])
def test_what_vanished_of_the_cache_is_uploaded_again(site: Site, gone: str) -> None:
    site.stage()
    folder = f"cache/{Data(site.tree).content_hash()}"
    site.store.delete_prefix(f"{folder}.complete" if gone == "marker" else f"{folder}/{gone}")
    assert site.stage()
    assert site.held() == whole(site)
    assert site.is_marked()
    site.proxy.break_()
    assert not site.stage()
    assert site.proxy.count(WRITES) == 0
