"""One entry of the context archive."""

import attrs


@attrs.frozen(kw_only=True)
class ArchiveEntry:
    """One entry of the context archive."""

    name: str
    """`/`-separated, relative to the root; directories end in `/`."""
    size_bytes: int
    mode: int
    """POSIX permission bits, for example 0o644."""
