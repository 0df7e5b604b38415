"""`kinetic gc`: what nobody needs any more in a store, and removing it."""

import re
from typing import Annotated, Final

import typer

from kinetic.cli.options import AsJson
from kinetic.cli.output import human_size, print_json, print_table
from kinetic_core.errors import UsageError

_AGE: Final = re.compile(r"(\d+)([dhm])")
_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60}
_DAY_S: Final = 86_400


def gc(
    *,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Such as 30d, 12h or 90m, since the last write or use.")
    ] = "30d",
    delete: Annotated[bool, typer.Option("--delete", help="Remove it; without this, it is only shown.")] = False,
    storage: Annotated[
        str | None, typer.Option("--storage", metavar="URL", help="The store; by default the one that jobs use.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what is left of finished jobs, and cached objects not used for long; remove it with --delete."""
    from kinetic.submission.collection import Collection
    from kinetic.submission.garbage import described, search_for

    search = search_for(storage, older_than_s=seconds(older_than))
    found = search.find()
    gone = Collection(search=search).remove(found) if delete else []
    shown = gone if delete else found
    size_bytes = sum(one.size_bytes for one in shown)
    if as_json:
        print_json(
            {
                "store": search.storage.url,
                "deleted": delete,
                "size_bytes": size_bytes,
                "kept": len(found) - len(gone) if delete else 0,
                "garbage": [described(one) for one in shown],
            }
        )
        return
    rows = [[one.kind, one.name, human_size(one.size_bytes), f"{one.age_s / _DAY_S:.1f} d"] for one in shown]
    print_table(
        ["kind", "name", "size", "age"], rows, empty=f"nothing in {search.storage.url} is older than {older_than}"
    )
    if shown:
        what = "removed" if delete else "would go, with --delete:"
        print(f"\n{what} {len(shown)} of {search.storage.url}, {human_size(size_bytes)}")
    if delete and len(gone) < len(found):
        print(f"{len(found) - len(gone)} stay: they were used again meanwhile")


def seconds(age: str) -> int:
    """Return an age in seconds.

    Raises:
        UsageError: It is none.

    >>> seconds("30d"), seconds("12h"), seconds("0m")
    (2592000, 43200, 0)
    """
    found = _AGE.fullmatch(age)
    if found is None:
        raise UsageError(f"--older-than {age!r} is no age; write a number and d, h or m, such as 30d")
    return int(found[1]) * _SECONDS[found[2]]
