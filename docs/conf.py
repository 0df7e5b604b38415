"""Sphinx configuration: MyST pages, furo, and the API from its docstrings."""

from importlib.metadata import version as installed_version
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

project = "kinetic-run"
author = "the kinetic-run maintainers"
project_copyright = author
release = installed_version("kinetic-run")
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
default_role = "literal"  # docstrings use single backticks, as Markdown does
html_theme = "furo"
html_title = "kinetic-run"

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True


def read_google_sections(  # noqa: PLR0917 - Sphinx fixes these arguments
    app: Sphinx, what: Any, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Translate Google sections, but not in attributes: there napoleon takes a text up to a colon for a type."""
    if what not in ("attribute", "property", "data"):
        config: Any = Config(napoleon_use_ivar=True)
        lines[:] = GoogleDocstring(list(lines), config, app, what, name, value, options).lines()


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.connect("autodoc-process-docstring", read_google_sections)
