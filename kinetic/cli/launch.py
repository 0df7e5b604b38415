"""`kinetic launch`: run a function elsewhere, as a command that lasts as long as its job."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from kinetic.cli.jobs import tell_failure
from kinetic.cli.options import Args, FileFunction, Kwargs
from kinetic.cli.output import complain
from kinetic_core.errors import KineticError, UsageError

if TYPE_CHECKING:
    from kinetic.jobs.handle import JobHandle

_FAILURE: Final = 1
_INTERRUPTED: Final = 130


def launch(
    target: FileFunction,
    *,
    args: Args = None,
    kwargs: Kwargs = None,
    detach: Annotated[bool, typer.Option("--detach", help="Print the job's id at once, and leave it running.")] = False,
) -> None:
    """Submit a call, follow its log, print its value, and exit with the job's own code; Ctrl-C leaves it running."""
    from kinetic.cli.target import load_target
    from kinetic.submission import pipeline

    found = load_target(target, args, kwargs)
    if not found.is_call:
        raise UsageError(f"{found.name} needs arguments; give them with --args or --kwargs")
    if not detach:
        pipeline.refuse_blocking_debug(found.options)
    handle = pipeline.submit(found.function, found.args, found.kwargs, found.options)
    if detach:
        print(handle.job_id)
        return
    try:
        value = handle.follow()
    except KeyboardInterrupt:
        # What to do next has been said.
        raise typer.Exit(_INTERRUPTED) from None
    except KineticError as error:
        complain(error)
        raise typer.Exit(_code_of(handle)) from None
    except Exception as error:  # noqa: BLE001  the user's function may raise anything
        tell_failure(handle, error)
        raise typer.Exit(_code_of(handle)) from None
    if value is not None:
        print(repr(value))


def _code_of(handle: "JobHandle[Any]") -> int:
    """Return the exit code of a job that failed; 1 where its backend knows none, or where it cannot be asked."""
    from kinetic import settings
    from kinetic.jobs.connection import connect
    from kinetic_core.model.job import JobRef

    try:
        backend = connect(settings.surroundings()).backend(handle.backend)
        code = backend.status(JobRef.from_json(handle.to_dict()["ref"])).exit_code
    except KineticError:
        return _FAILURE
    return code or _FAILURE
