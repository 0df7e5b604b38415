"""`kinetic cache`: what is kept of earlier submissions, and getting rid of it."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import typer

from kinetic.cli.options import AsJson
from kinetic.cli.output import human_size, print_fields, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinetic.hashes import KeptHashes
    from kinetic.submission.snapshots import KeptContext

    Kept = KeptContext | KeptHashes

_UNKNOWN: Final = "(unknown)"


def make_app() -> typer.Typer:
    """Return the group."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="See to what is kept of earlier submissions.")
    app.command("info")(info)
    app.command("clear")(clear)
    return app


def info(*, as_json: AsJson = False) -> None:
    """Print where the cache lies and what it holds, the last used first."""
    from kinetic.hashes import HashCache
    from kinetic.privacy import cache_folder
    from kinetic.submission.snapshots import SnapshotCache

    contexts, hashes = SnapshotCache.of_user().contents(), HashCache.of_user().contents()
    folder, size = str(cache_folder()), _size(contexts) + _size(hashes)
    if as_json:
        roots = [{"root": one.root or None, **_json(one)} for one in contexts]
        data = [{"path": one.path or None, **_json(one)} for one in hashes]
        print_json({"folder": folder, "size_bytes": size, "roots": roots, "data": data})
        return
    rows = [["context", one.root or _UNKNOWN, human_size(one.size_bytes), _time(one)] for one in contexts]
    rows += [["hashes", one.path or _UNKNOWN, human_size(one.size_bytes), _time(one)] for one in hashes]
    print_table(["kept", "of", "size", "last used"], rows, empty="nothing is kept")
    print()
    print_fields({"folder": folder, "size": human_size(size)})


def clear(*, as_json: AsJson = False) -> None:
    """Remove all that is kept; the next submission of each project reads every file again."""
    from kinetic.hashes import HashCache
    from kinetic.submission.snapshots import SnapshotCache

    contexts, hashes = SnapshotCache.of_user().clear(), HashCache.of_user().clear()
    size = _size(contexts) + _size(hashes)
    if as_json:
        print_json({"removed": len(contexts) + len(hashes), "size_bytes": size})
        return
    roots = f"{len(contexts)} {'root' if len(contexts) == 1 else 'roots'}"
    print(f"removed what was kept of {roots}, and hashes of {len(hashes)} Data, {human_size(size)}")


def _json(kept: "Kept") -> dict[str, Any]:
    return {"size_bytes": kept.size_bytes, "used_at": _time(kept)}


def _size(kept: "Sequence[Kept]") -> int:
    return sum(one.size_bytes for one in kept)


def _time(kept: "Kept") -> str:
    return datetime.fromtimestamp(kept.used_at, UTC).isoformat(timespec="seconds")
