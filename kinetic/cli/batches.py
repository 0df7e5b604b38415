"""`kinetic batches`: many calls of one function, and how far they are."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinetic.cli.jobs import value_of
from kinetic.cli.options import AsJson
from kinetic.cli.output import complain, print_fields, print_json, print_table
from kinetic_core.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kinetic.jobs.batch import BatchHandle
    from kinetic_core.model.job import JobStatus

GroupId = Annotated[str, typer.Argument(metavar="GROUP_ID", help="`batch-` and 8 hexadecimal digits.")]
Store = Annotated[str | None, typer.Option("--storage", metavar="URL", help="The store to search.")]


def make_app() -> typer.Typer:
    """Return the group."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="See to batches that were started.")
    app.command("list")(list_all)
    app.command("status")(status)
    app.command("result")(result)
    app.command("cancel")(cancel)
    return app


def list_all(*, storage: Store = None, as_json: AsJson = False) -> None:
    """List the batches of a store that were not cleaned up, the oldest first."""
    from kinetic.jobs.attachbatch import list_batches

    found = [_described(handle) for handle in list_batches(storage=storage)]
    if as_json:
        print_json(found)
        return
    columns = ["group_id", "name", "inputs", "counts", "backend", "created_at"]
    rows = [[_text(batch[column]) for column in columns] for batch in found]
    print_table(columns, rows, empty="no batches")


def status(group_id: GroupId, *, storage: Store = None, as_json: AsJson = False) -> None:
    """Print how a batch stands, and each of its inputs; start nothing."""
    handle = _look_at(group_id, storage)
    described = _described(handle)
    inputs = _inputs(handle)
    if as_json:
        print_json({**described, "input_states": inputs})
        return
    print_fields({name: _text(value) for name, value in described.items()})
    print()
    columns = ["input", "status", "attempts", "job_id", "reason"]
    print_table(columns, [[_text(one[column]) for column in columns] for one in inputs], empty="no inputs")


def result(
    group_id: GroupId,
    *,
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait; without it, until all has ended.")] = None,
    remove: Annotated[bool, typer.Option("--cleanup", help="Remove the batch when every value is here.")] = False,
    storage: Store = None,
    as_json: AsJson = False,
) -> None:
    """Finish a batch and print its values in the order of the inputs; exit with 1 when one is missing."""
    handle = _look_at(group_id, storage)
    try:
        values = handle.results(timeout=timeout, cleanup=remove)
    except BatchError as error:
        complain(error)
        raise typer.Exit(1) from None
    if as_json:
        print_json({"group_id": group_id, "values": [value_of(value) for value in values]})
    else:
        for value in values:
            print(repr(value))


def cancel(group_id: GroupId, *, storage: Store = None) -> None:
    """End what runs of a batch and start nothing more; nothing happens when it has ended."""
    handle = _look_at(group_id, storage)
    handle.cancel()
    print(f"{group_id}: {_text(_counts(handle.status_counts()))}")


def _look_at(group_id: str, storage: str | None) -> "BatchHandle[Any]":
    from kinetic.jobs.attachbatch import look_at_batch

    return look_at_batch(group_id, storage=storage)


def _described(handle: "BatchHandle[Any]") -> dict[str, Any]:
    counts = handle.status_counts()
    return {
        "group_id": handle.group_id,
        "name": handle.name,
        "func_name": handle.func_name,
        "inputs": sum(counts.values()),
        "is_complete": handle.is_complete,
        "counts": _counts(counts),
        "tags": list(handle.tags),
        "backend": handle.backend,
        "created_at": handle.created_at,
        "storage": handle.storage,
    }


def _inputs(handle: "BatchHandle[Any]") -> list[dict[str, Any]]:
    jobs = {handle.index_of(job): job.job_id for job in handle.jobs}
    reasons = handle.reasons()
    return [
        {"input": index, "status": str(status), "attempts": attempts, "job_id": jobs.get(index), "reason": reason}
        for index, (status, attempts, reason) in enumerate(
            zip(handle.statuses(), handle.attempts(), reasons, strict=True)
        )
    ]


def _counts(counts: "Mapping[JobStatus, int]") -> dict[str, int]:
    return {str(status): count for status, count in counts.items()}


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case dict():
            return ", ".join(f"{count} {status}" for status, count in value.items()) or "none"
        case list():
            return ", ".join(map(str, value))
    return str(value)
