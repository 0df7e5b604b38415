"""The contract kit, asked of a stranger's plugin: `pytest contract.py`, where the distribution is installed."""

import pytest
from kinetic_foreground.plugin import kinetic_backend_drivers

from kinetic.testing import BackendContract, PluginContract
from kinetic_core.plugin import BackendDriver


class TestPlugin(PluginContract):
    plugin = "foreground"


class TestBackend(BackendContract):
    blocks = True

    @pytest.fixture
    def driver(self) -> BackendDriver:
        (driver,) = kinetic_backend_drivers()
        return driver
