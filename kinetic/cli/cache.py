"""`kinetic cache`: what is kept of earlier packagings, and getting rid of it."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from kinetic.cli.options import AsJson
from kinetic.cli.output import human_size, print_fields, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinetic.submission.snapshots import KeptContext


def make_app() -> typer.Typer:
    """Return the group."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="See to what is kept of earlier packagings.")
    app.command("info")(info)
    app.command("clear")(clear)
    return app


def info(*, as_json: AsJson = False) -> None:
    """Print where the cache lies and what it holds, the last used first."""
    from kinetic.submission.snapshots import SnapshotCache

    cache = SnapshotCache.of_user()
    kept = cache.contents()
    if as_json:
        print_json({"folder": str(cache.folder), "size_bytes": _size(kept), "roots": [_json(one) for one in kept]})
        return
    rows = [[one.root or "(unknown)", human_size(one.size_bytes), _time(one)] for one in kept]
    print_table(["root", "size", "last used"], rows, empty="nothing is kept")
    print()
    print_fields({"folder": str(cache.folder), "size": human_size(_size(kept))})


def clear(*, as_json: AsJson = False) -> None:
    """Remove all that is kept; the next packaging of each project reads every file again."""
    from kinetic.submission.snapshots import SnapshotCache

    removed = SnapshotCache.of_user().clear()
    if as_json:
        print_json({"removed": len(removed), "size_bytes": _size(removed)})
        return
    count = len(removed)
    print(f"removed what was kept of {count} {'root' if count == 1 else 'roots'}, {human_size(_size(removed))}")


def _json(kept: "KeptContext") -> dict[str, Any]:
    return {"root": kept.root or None, "size_bytes": kept.size_bytes, "used_at": _time(kept)}


def _size(kept: "Sequence[KeptContext]") -> int:
    return sum(one.size_bytes for one in kept)


def _time(kept: "KeptContext") -> str:
    return datetime.fromtimestamp(kept.used_at, UTC).isoformat(timespec="seconds")
