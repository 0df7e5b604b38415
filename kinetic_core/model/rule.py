"""Exclude rules: data, not a callback a file."""

from typing import Literal

import attrs


@attrs.frozen(kw_only=True)
class ExcludeRule:
    """Keep something under the package root out of the archive. No rule re-includes anything.

    >>> ExcludeRule(pattern="*.ckpt").kind
    'glob'
    """

    pattern: str
    kind: Literal["name", "glob", "path"] = attrs.field(
        default="glob", validator=attrs.validators.in_(("name", "glob", "path"))
    )
    """`name`: that exact last name at any depth. `glob`: `fnmatch`, tried on the relative path and on the
    last name; `*` crosses `/`. `path`: that exact path relative to the root, and all below it."""
    directories_only: bool = False
    source: str = "plugin"
    """Who said so; the host sets it to `plugin:<name>` for a plugin's rules."""
    origin: str = ""
    """Where it was written, such as `.kineticignore:3`; empty where there is no such place."""
