"""Distributions with real entry points, on a directory of their own."""

import itertools
import textwrap
from collections.abc import Mapping
from pathlib import Path

import attrs

_serial = itertools.count()


@attrs.define
class PluginSite:
    """A directory on `sys.path`; what is written to it is installed.

    Modules get names that were never used before in this process, so nothing of `sys.modules` is in the way.
    """

    directory: Path

    def install(
        self,
        distribution: str,
        source: str,
        *,
        version: str = "1.0",
        plugin: str = "",
        module: str = "",
        value: str = "",
    ) -> str:
        """Install a distribution with one plugin and return the name of the plugin's module."""
        module = module or self.module(source)
        entry = plugin or distribution.removeprefix("kinetic-")
        self.metadata(distribution, {entry: value or module}, version=version)
        return module

    def module(self, source: str) -> str:
        """Write a module under a new name; `hookimpl` and all of `kinetic_core.plugin` are imported in it."""
        name = f"plugin_site_{next(_serial)}"
        text = f"from kinetic_core.plugin import *\n{textwrap.dedent(source)}"
        (self.directory / f"{name}.py").write_text(text, encoding="utf-8")
        return name

    def metadata(self, distribution: str, entry_points: Mapping[str, str], *, version: str = "1.0") -> None:
        """Write the metadata of an installed distribution."""
        folder = self.directory / f"{distribution.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        lines = [f"{name} = {value}" for name, value in entry_points.items()]
        (folder / "entry_points.txt").write_text("\n".join(["[kinetic]", *lines, ""]))
