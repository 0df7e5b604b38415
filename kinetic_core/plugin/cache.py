"""Caches: what a plugin keeps of earlier jobs on the client's machine."""

from collections.abc import Callable, Sequence

import attrs

from kinetic_core.plugin.fields import is_text


@attrs.frozen(kw_only=True)
class Kept:
    """One thing that is kept."""

    name: str = attrs.field(validator=is_text)
    """Tells a person which it is."""
    size_bytes: int
    used_at: float
    """When it was last used, in seconds since the epoch."""


@attrs.frozen(kw_only=True)
class Cache:
    """What `kinetic cache` shows and removes of one plugin.

    >>> Cache(kind="wheel", contents=lambda: (), clear=lambda: ()).contents()
    ()
    """

    kind: str = attrs.field(validator=is_text)
    """What one such thing is called: `virtual environment`."""
    contents: Callable[[], Sequence[Kept]] = attrs.field(validator=attrs.validators.is_callable())
    """Returns what is kept, the last used first."""
    clear: Callable[[], Sequence[Kept]] = attrs.field(validator=attrs.validators.is_callable())
    """Removes what no job uses now, and returns it."""
