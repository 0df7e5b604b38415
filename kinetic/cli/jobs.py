"""`kinetic jobs`: what runs, how it stands, and its log and value."""

import json
import sys
import traceback
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kinetic.cli.options import AsJson
from kinetic.cli.output import complain, print_fields, print_json, print_table
from kinetic_core.errors import JobFailedError, KineticError

if TYPE_CHECKING:
    from kinetic.jobs.handle import JobHandle

JobId = Annotated[str, typer.Argument(metavar="JOB_ID", help="`job-` and 8 hexadecimal digits.")]
Store = Annotated[str | None, typer.Option("--storage", metavar="URL", help="The store to search.")]


def make_app() -> typer.Typer:
    """Return the group."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="See to jobs that were submitted.")
    app.command("list")(list_live)
    app.command("status")(status)
    app.command("logs")(logs)
    app.command("result")(result)
    app.command("cancel")(cancel)
    app.command("cleanup")(cleanup)
    app.command("debug")(debug)
    return app


def list_live(*, as_json: AsJson = False) -> None:
    """List the live jobs, the oldest first."""
    from kinetic.jobs.attach import list_jobs

    found = [_described(handle) for handle in list_jobs()]
    if as_json:
        print_json(found)
        return
    columns = ["job_id", "status", "func_name", "backend", "accelerator", "created_at"]
    print_table(columns, [[job[column] for column in columns] for job in found], empty="no live jobs")


def status(job_id: JobId, *, storage: Store = None, as_json: AsJson = False) -> None:
    """Print how a job stands."""
    described = _described(_attach(job_id, storage))
    if as_json:
        print_json(described)
    else:
        print_fields({name: value for name, value in described.items() if value})


def logs(
    job_id: JobId,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")] = False,
    tail: Annotated[int | None, typer.Option("--tail", "-n", min=0, help="Only so many last lines.")] = None,
    host: Annotated[int, typer.Option(min=0, help="Of a job with several hosts.")] = 0,
    all_hosts: Annotated[
        bool, typer.Option("--all-hosts", help="The lines of every host, each behind its own.")
    ] = False,
    storage: Store = None,
) -> None:
    """Print a job's log."""
    if follow and tail is not None:
        raise typer.BadParameter("--follow shows the whole log; leave out --tail")
    if all_hosts and host:
        raise typer.BadParameter("--all-hosts shows each host; leave out --host")
    handle = _attach(job_id, storage)
    whose: int | Literal["all"] = "all" if all_hosts else host
    if follow:
        handle.logs(follow=True, host=whose)
    else:
        sys.stdout.write(handle.logs(host=whose) if tail is None else handle.tail(tail, host=whose))


def result(
    job_id: JobId,
    *,
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait; without it, until the job ends.")] = None,
    remove: Annotated[bool, typer.Option("--cleanup", help="Remove the job and its artifacts on success.")] = False,
    storage: Store = None,
    as_json: AsJson = False,
) -> None:
    """Wait for a job and print its value; exit with 1 when it failed."""
    handle = _attach(job_id, storage)
    try:
        value = handle.result(timeout=timeout, cleanup=remove)
    except KineticError:
        raise
    except Exception as error:  # noqa: BLE001  the user's function may raise anything
        tell_failure(handle, error)
        raise typer.Exit(1) from None
    print_json({"job_id": job_id, **value_of(value)}) if as_json else print(repr(value))


def cancel(job_id: JobId, *, storage: Store = None) -> None:
    """End a job and all its processes; nothing happens when it has ended."""
    handle = _attach(job_id, storage)
    handle.cancel()
    print(f"{job_id}: {handle.status()}")


def debug(
    job_id: JobId,
    *,
    port: Annotated[int, typer.Option(help="Of this machine; 0 for any that is free.", min=0, max=65535)] = 5678,
    storage: Store = None,
) -> None:
    """Lead a port of this machine to a job's debugger until the job has ended; Ctrl-C leaves the job as it is.

    Prints the entry for a launch.json, by which an editor attaches.
    """
    handle = _attach(job_id, storage)
    with handle.debug_attach(port) as session:
        print(session, flush=True)
        try:
            ended = handle.wait()
        except KeyboardInterrupt:
            sys.stderr.write(f"\nkinetic: the port is closed, {job_id} goes on\n")
            return
    sys.stderr.write(f"kinetic: {job_id} has ended: {ended}\n")


def cleanup(
    job_id: JobId,
    *,
    keep_artifacts: Annotated[bool, typer.Option("--keep-artifacts", help="Leave what lies in the store.")] = False,
    storage: Store = None,
) -> None:
    """Remove what is left of a job: the backend's resource and the store's artifacts."""
    _attach(job_id, storage).cleanup(storage=not keep_artifacts)
    print(f"{job_id}: cleaned up")


def _attach(job_id: str, storage: str | None) -> "JobHandle[Any]":
    from kinetic.jobs.attach import attach

    return attach(job_id, storage=storage)


def _described(handle: "JobHandle[Any]") -> dict[str, str]:
    state = handle.state()
    return {
        "job_id": handle.job_id,
        "status": str(state.status),
        "reason": state.reason,
        "func_name": handle.func_name,
        "backend": handle.backend,
        "accelerator": handle.accelerator,
        "created_at": handle.created_at,
        "storage": handle.storage,
    }


def value_of(value: Any) -> dict[str, Any]:
    """Return the value for a program: as JSON where JSON holds it faithfully, and always as `repr`."""
    try:
        faithful = json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError, RecursionError):
        faithful = False
    return {"value": value if faithful else None, "is_json": faithful, "repr": repr(value)}


def tell_failure(handle: "JobHandle[Any]", error: Exception) -> None:
    """Print the function's own exception: its remote traceback is the note that it carries."""
    last = "".join(traceback.format_exception_only(error)).rstrip()
    complain(JobFailedError(f"{handle.job_id} ({handle.func_name}) raised:\n{last}"))
