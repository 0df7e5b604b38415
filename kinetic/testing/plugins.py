"""What every plugin promises, installed as it will be."""

import json
import subprocess
import sys
from importlib.metadata import entry_points
from typing import ClassVar, Final

import pytest

from kinetic.host import Host, load_host
from kinetic.testing.contract import Contract
from kinetic_core.plugin import PluginInfo

_HEAVY: Final = ("adlfs", "fsspec", "gcsfs", "jax", "kubernetes", "numpy", "s3fs", "tensorflow", "torch")
_IMPORT: Final = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
print(json.dumps([name for name in sys.argv[2:] if name in sys.modules]))
"""


class PluginContract(Contract):
    """Set `plugin`; the distribution must be installed, in editable form or not.

    ```python
    class TestMyPlugin(PluginContract):
        plugin = "mine"
    ```
    """

    plugin: ClassVar[str] = ""
    """Name of the entry point in group `kinetic`."""

    @pytest.fixture
    def host(self) -> Host:
        """Return a host with all plugins that are installed."""
        return load_host({})

    @pytest.fixture
    def info(self, host: Host) -> PluginInfo:
        """Return what the host says of the plugin."""
        found = [info for info in host.plugins() if info.name == self.plugin]
        assert found, f"no plugin {self.plugin!r} is installed: is its distribution, with an entry point of that name?"
        return found[0]

    def test_the_host_accepts_it(self, info: PluginInfo) -> None:
        assert info.problem == ""
        assert info.hooks

    def test_one_distribution_has_its_name(self, info: PluginInfo) -> None:
        assert len({point.value for point in entry_points(group="kinetic") if point.name == info.name}) == 1

    def test_importing_it_loads_neither_the_client_nor_a_heavy_library(self, info: PluginInfo) -> None:
        command = [sys.executable, "-c", _IMPORT, info.module, "kinetic", *_HEAVY]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout.splitlines()[-1]) == []

    def test_what_it_offers_can_be_asked_for(self, host: Host, info: PluginInfo) -> None:
        host.backends()
        host.reference_types()
        host.serializers()
        assert [problem for problem in host.problems() if info.name in str(problem)] == []

    def test_without_it_everything_else_works(self, info: PluginInfo) -> None:
        left = load_host({"KINETIC_DISABLE_PLUGINS": info.name})
        assert [one.disabled_by for one in left.plugins() if one.name == info.name] == ["KINETIC_DISABLE_PLUGINS"]
        assert [problem for problem in left.problems() if info.name in str(problem)] == []
