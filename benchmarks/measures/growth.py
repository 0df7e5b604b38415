"""How costs grow with the tree: target 16."""

from collections.abc import Iterator
from typing import Final

from benchmarks.contestants import OURS
from benchmarks.measures import field
from benchmarks.records import Measured, Row
from benchmarks.trees import growth
from benchmarks.workshop import Workshop

FROM: Final = 100
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
        rows=tuple(_a_file(size, one.row(OURS)) for size, one in zip(sizes(shop), measured, strict=True)),
    )


def _a_file(size: int, row: Row | None) -> Row:
    name = f"{size:,} files"
    if row is None or row.reason is not None:
        return Row(contestant=name, reason="not measured" if row is None else row.reason)
    return Row(
        contestant=name,
        values={f"cold_{key}_a_file": row.values[key] / size for key in ("wall_ms", "cpu_ms")},
        rounds=row.rounds,
        quiet_rounds=row.quiet_rounds,
        is_disturbed=row.is_disturbed,
    )
