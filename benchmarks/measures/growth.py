"""How costs grow with the tree: target 16."""

from collections.abc import Iterator
from typing import Final

from benchmarks.contestants import OURS
from benchmarks.measures import field
from benchmarks.records import Measured, Row
from benchmarks.trees import growth
from benchmarks.workshop import Workshop

FROM: Final = 100
WARM: Final = "kinetic-run, unchanged"
_MANY: Final = 10_000


def sizes(shop: Workshop) -> list[int]:
    """Return the numbers of files, up to the largest asked for."""
    found = [FROM]
    while found[-1] * 10 <= shop.largest:
        found.append(found[-1] * 10)
    return found


def measure(shop: Workshop) -> Iterator[Measured]:
    """Yield one measurement a size, then what a file costs at each."""
    measured = []
    for size in sizes(shop):
        name = growth(size)
        contestants = [
            shop.ours("own_context", "cold", tree=shop.tree(name), out=field.room_of(shop, name)),
            shop.ours(
                *("own_context", "warm"),
                name=WARM,
                tree=shop.tree(name),
                out=shop.room(f"warm-{name}", "context.zip"),
            ),
            next(tool for tool in field.archivers(shop, name) if tool.name == field.TAR_ZSTD),
            field.git_status(shop, name),
        ]
        measured.append(
            shop.measure(f"growth:{size}", f"{size:,} files", contestants, rounds=shop.rounds if size <= _MANY else 3)
        )
        yield measured[-1]
    yield Measured(
        key="growth",
        title="cost of a file, as trees grow",
        rows=tuple(_a_file(size, one) for size, one in zip(sizes(shop), measured, strict=True)),
    )


def _a_file(size: int, measured: Measured) -> Row:
    rows = {"cold": measured.row(OURS), "warm": measured.row(WARM)}
    there = {kind: row for kind, row in rows.items() if row is not None and row.reason is None}
    return Row(
        contestant=f"{size:,} files",
        values={
            f"{kind}_{key}_a_file": row.values[key] / size
            for kind, row in there.items()
            for key in ("wall_ms", "cpu_ms")
        },
        rounds=measured.rows[0].rounds,
        is_disturbed=any(row.is_disturbed for row in there.values()),
        reason=None if there else measured.rows[0].reason,
    )
