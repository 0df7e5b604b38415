"""docs/reference/accelerators.md shows the table as it is."""

from collections.abc import Iterator
from pathlib import Path

from kinetic_gke.machines import GPUS, TPUS

PAGE = Path(__file__).parents[3] / "docs/reference/accelerators.md"


def gpu_rows() -> Iterator[str]:
    """Yield the rows of the GPUs' table."""
    for name, gpu in GPUS.items():
        machines = ", ".join(f"`{machine}`" for machine in gpu.machines.values())
        yield f"| `{name}` | `{gpu.label}` | {', '.join(map(str, gpu.machines))} | {machines} |"


def tpu_rows() -> Iterator[str]:
    """Yield the rows of the TPUs' table."""
    for name, tpu in TPUS.items():
        for one in tpu.slices:
            topology = "x".join(map(str, one.topology))
            yield f"| `{name}-{one.chips}` | `{name}-{topology}` | {one.hosts} | `{one.machine_type}` | `{one.label}` |"


def test_the_page_has_every_row_of_the_table_in_its_order_and_no_other() -> None:
    tables = PAGE.read_text(encoding="utf-8").partition("## GPUs\n")[2]
    rows = [line for line in tables.splitlines() if line.startswith("| `")]
    assert rows == [*gpu_rows(), *tpu_rows()]
