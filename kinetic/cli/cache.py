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
    from kinetic_core.plugin import Cache, Kept

    AnyKept = KeptContext | KeptHashes | Kept

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
    others = [(cache.kind, one) for cache in _of_plugins() for one in cache.contents()]
    folder = str(cache_folder())
    size = _size(contexts) + _size(hashes) + _size([one for _, one in others])
    if as_json:
        roots = [{"root": one.root or None, **_json(one)} for one in contexts]
        data = [{"path": one.path or None, **_json(one)} for one in hashes]
        more = [{"kind": kind, "name": one.name, **_json(one)} for kind, one in others]
        print_json({"folder": folder, "size_bytes": size, "roots": roots, "data": data, "others": more})
        return
    rows = [["context", one.root or _UNKNOWN, human_size(one.size_bytes), _time(one)] for one in contexts]
    rows += [["hashes", one.path or _UNKNOWN, human_size(one.size_bytes), _time(one)] for one in hashes]
    rows += [[kind, one.name, human_size(one.size_bytes), _time(one)] for kind, one in others]
    print_table(["kept", "of", "size", "last used"], rows, empty="nothing is kept")
    print()
    print_fields({"folder": folder, "size": human_size(size)})


def clear(*, as_json: AsJson = False) -> None:
    """Remove all that is kept; the next submission of each project reads every file again."""
    from kinetic.hashes import HashCache
    from kinetic.submission.snapshots import SnapshotCache

    contexts, hashes = SnapshotCache.of_user().clear(), HashCache.of_user().clear()
    others = {cache.kind: cache.clear() for cache in _of_plugins()}
    size = _size(contexts) + _size(hashes) + sum(map(_size, others.values()))
    if as_json:
        removed = len(contexts) + len(hashes) + sum(map(len, others.values()))
        print_json({"removed": removed, "size_bytes": size})
        return
    told = [f"hashes of {len(hashes)} Data", *(_counted(len(found), kind) for kind, found in others.items() if found)]
    print(f"removed what was kept of {_counted(len(contexts), 'root')}, and {', '.join(told)}, {human_size(size)}")


def _of_plugins() -> "Sequence[Cache]":
    from kinetic import settings
    from kinetic.host import load_host

    surroundings = settings.surroundings()
    return load_host(surroundings.environ).caches(surroundings.home)


def _counted(number: int, kind: str) -> str:
    return f"{number} {kind}{'' if number == 1 else 's'}"


def _json(kept: "AnyKept") -> dict[str, Any]:
    return {"size_bytes": kept.size_bytes, "used_at": _time(kept)}


def _size(kept: "Sequence[AnyKept]") -> int:
    return sum(one.size_bytes for one in kept)


def _time(kept: "AnyKept") -> str:
    return datetime.fromtimestamp(kept.used_at, UTC).isoformat(timespec="seconds")
