"""What a submission asks of the store for the context: the bytes of targets 3 and 4."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from benchmarks.measures import field
from benchmarks.records import Measured
from benchmarks.workshop import Workshop

UNCHANGED: Final = "submitted again, unchanged"
EDITED: Final = "submitted again, one file of 1 KB edited"
_TREES: Final = ("src2k", "prune")
_SETTLED_S: Final = 2.5
_EDITED_FILE: Final = "edited_by_the_benchmark.py"


def measure(shop: Workshop) -> Iterator[Measured]:
    """Yield one table a tree."""
    for name in _TREES:
        contestants = [
            attrs.evolve(
                shop.ours(
                    *("own_client", "upload"),
                    name=shown,
                    project=_copy(shop, name, kind),
                    store=shop.room(f"upload-{kind}-{name}", "store").as_uri(),
                    edited=file,
                ),
                detached=True,
            )
            for kind, shown, file in (("unchanged", UNCHANGED, None), ("edited", EDITED, _EDITED_FILE))
        ]
        yield shop.measure(f"upload:{name}", f"what `{name}`'s context asks of the store", contestants, rounds=3)


def _copy(shop: Workshop, name: str, kind: str) -> Path:
    copy = shop.room(f"upload-{kind}-{name}", "tree")
    if not copy.is_dir():
        shutil.copytree(shop.tree(name), copy, ignore=shutil.ignore_patterns(*field.LEFT_OUT))
        # What is younger counts as changed, as in git's index.
        time.sleep(_SETTLED_S)
    return copy
