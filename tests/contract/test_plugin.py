"""What a plugin promises, asked of each that ships."""

from kinetic.host import load_host
from kinetic.testing import PluginContract


class TestFsspec(PluginContract):
    plugin = "fsspec"


class TestGitignore(PluginContract):
    plugin = "gitignore"


class TestGke(PluginContract):
    plugin = "gke"


class TestJax(PluginContract):
    plugin = "jax"


class TestLocal(PluginContract):
    plugin = "local"


def test_every_plugin_that_ships_is_asked() -> None:
    asked = {kind.plugin for kind in (TestFsspec, TestGitignore, TestGke, TestJax, TestLocal)}
    ours = {info.name for info in load_host({}).plugins() if info.distribution == "kinetic-run"}
    # The client's own part is the client.
    assert ours - {"defaults"} == asked
