"""The phases, in order. Each has a name, used in the log and in failure records."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from kinetic_core.wire import payload as keys
from kinetic_core.wire.digest import sha256_of_file
from kinetic_core.wire.names import CONTEXT_FILE, ENV_COORDINATOR, PAYLOAD_FILE, PLAN_PATH
from kinetic_core.wire.plan import read_plan
from kinetic_runner import children, debugger, environment, formats, requirements, sources
from kinetic_runner.advice import hints, loading_failure, same_python, skew_lines
from kinetic_runner.fetch import Fetched, fetch
from kinetic_runner.filenames import FileNames
from kinetic_runner.functions import find_function
from kinetic_runner.image import image_path
from kinetic_runner.invoke import add_notes, invoke
from kinetic_runner.job import Job
from kinetic_runner.loading import load_pickle, load_plain
from kinetic_runner.mounts import displaced
from kinetic_runner.parallel import side_by_side
from kinetic_runner.preview import known_before_loading
from kinetic_runner.uris import local_path
from kinetic_runner.workspace import extract

Phase = tuple[str, Callable[[Job], None]]


def download(job: Job) -> None:
    """Fetch the artifacts, side by side; refuse a format that is not accepted first."""
    asked = job.arguments
    job.format = formats.format_of(asked.payload)
    formats.check_format(job.format.name, formats.allowed_formats(asked.allowed_serialization, job.environ))
    layers = asked.context_layers
    # What is composed is hashed when it is.
    hashed = asked.context_sha256 is not None and not layers
    calls = [partial(_fetch_context, uri, job, hashed=hashed) for uri in (asked.context, *layers)]
    calls.append(partial(fetch, asked.payload, job.scratch, log=job.log, hashed=asked.payload_sha256 is not None))
    if asked.requirements is not None:
        calls.append(partial(fetch, asked.requirements, job.scratch, log=job.log, hashed=False))
    uris = (asked.context, *layers, asked.payload, asked.requirements)
    # Local files are only read; threads would take longer than that.
    remote = any(local_path(uri) is None for uri in uris if uri is not None)
    job.context, *fetched = side_by_side(calls) if remote else [call() for call in calls]
    job.layers, (job.payload_file, *others) = fetched[: len(layers)], fetched[len(layers) :]
    job.requirements = others[0] if others else None


def verify(job: Job) -> None:
    """Compare the bytes that arrived with what the client sent; put together what came in layers."""
    asked = job.arguments
    if job.layers:
        _compose_context(job)
    for fetched, digest in ((job.context, asked.context_sha256), (job.payload_file, asked.payload_sha256)):
        there = _present(fetched)
        if digest is not None and there.sha256 != digest.strip().lower():
            raise ValueError(f"{there.uri} is not what the client sent: SHA-256 {there.sha256}, expected {digest}")


def install(job: Job) -> None:
    """Install the job's own requirements."""
    if job.requirements is not None:
        requirements.install(job.requirements.path, environ=job.environ, log=job.log)


def unpack(job: Job) -> None:
    """Extract the context, and enter it as the plan says."""
    count = extract(_present(job.context).path, job.workspace, environ=job.environ, log=job.log)
    job.log.stage(f"context extracted, {count} files")
    path = job.workspace / PLAN_PATH
    job.plan, warnings = read_plan(path.read_bytes() if path.is_file() else None)
    for warning in warnings:
        job.log.caution(warning)
    job.names = FileNames(package_root=job.plan.package_root, workspace=job.workspace)
    environment.enter(job.plan, job.workspace, job.log)


def unpickle(job: Job) -> None:
    """Load the call. Modules of the project that it imports come from the workspace."""
    path = _present(job.payload_file).path
    environment.name_job(job.environ, job.host_index)
    if job.format.plain is not None:
        job.payload = load_plain(path, job.format.plain)
        environment.set_variables(job.payload.get(keys.ENV_VARS), job.environ, job.log)
        _meet(job)
        job.function = _imported(job)
        return
    before = known_before_loading(path)
    # What loading calls may do anything where its version differs; the log must have said so by then.
    _tell_skew(job, before)
    # Loading imports what the function refers to, and some of that reads variables once and for all.
    environment.set_variables(before.get(keys.ENV_VARS), job.environ, job.log)
    # Objects that live on devices come to life when they are loaded; what devices there are must be settled by then.
    _meet(job)
    try:
        job.payload = load_pickle(path, job.names, same_python=same_python(before))
    except Exception as error:
        raise loading_failure(error, path, job.plan) from error
    job.function = job.payload[keys.FUNC]


def surround(job: Job) -> None:
    """Set the captured variables, make the working-directory link, tell of other versions."""
    environment.set_variables(job.payload.get(keys.ENV_VARS), job.environ, job.log)
    environment.name_job(job.environ, job.host_index)
    _tell_skew(job, job.payload)
    working_dir = job.payload.get(keys.WORKING_DIR)
    if job.arguments.working_dir_link and isinstance(working_dir, str):
        job.link = environment.WorkingDirLink(working_dir, job.workspace)
        job.link.make(job.log)


def resolve(job: Job) -> None:
    """Put data in place: volumes first, then what the arguments refer to."""
    payload = job.payload
    job.args, job.kwargs = payload[keys.ARGS], payload[keys.KWARGS]
    volumes = payload.get(keys.VOLUMES) or ()
    # True where the payload does not say: others may not.
    has_references = payload.get(keys.HAS_DATA_REFS, True)
    if not volumes and not has_references:
        return
    with image_path():
        from kinetic_runner.resolve import Resolver

    job.scratch.mkdir(mode=0o700, exist_ok=True)
    resolver = Resolver.for_payload(payload, job.environ, job.scratch / "data", job.log)
    resolver.mount(volumes)
    if has_references:
        replaced = resolver.resolve(job.args, job.kwargs)
        job.args, job.kwargs = replaced.args, replaced.kwargs
        for note in replaced.notes:
            job.log.caution(note)


def resolve_all(job: Job) -> None:
    """Put data in place, and look whether the function that many calls share is what the client sent."""
    resolve(job)
    digest = job.payload.get(keys.SHARED_FUNCTION)
    if digest and sha256_of_file(_shared_payload(job)) != digest:
        raise ValueError(f"the shared function is not what the client sent: its SHA-256 is not {digest}")


def execute(job: Job) -> None:
    """Make the call."""
    if job.function is None:
        raise RuntimeError("the call is made before it was loaded")
    if job.payload.get(keys.SHARED_FUNCTION):
        _take_shared(job)
    children.teach()
    sources.teach(job.names.modules)
    # Versions may differ where nothing is pickled.
    payload = {} if job.format.plain else job.payload

    def explained(error: Exception) -> list[str]:
        moved = displaced(error, job.payload.get(keys.VOLUMES), job.environ)
        return [*moved, *hints(error, payload, job.plan)]

    job.outcome = invoke(job.function, job.args, job.kwargs, hints=explained)
    if job.outcome.success:
        job.waiting = "the call had returned, and this host waited for the others"
    for meeting in reversed(job.meetings):
        meeting.leave(failed=not job.outcome.success)
    job.waiting = ""


DEBUGGER: Final[Phase] = ("debugger setup", debugger.set_up)
"""Comes before the last phase, where a debugger is wanted."""
PHASES: Final[tuple[Phase, ...]] = (
    ("artifact download", download),
    ("artifact verification", verify),
    ("requirements install", install),
    ("context extract", unpack),
    ("payload unpickle", unpickle),
    ("environment setup", surround),
    ("data resolve", resolve_all),
    ("execute", execute),
)


def _fetch_context(uri: str, job: Job, *, hashed: bool) -> Fetched:
    try:
        return fetch(uri, job.scratch, log=job.log, hashed=hashed)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"the context {uri} is not in the store (any more): {error}. Submit the call again: the client uploads"
            " whatever is missing"
        ) from error


def _compose_context(job: Job) -> None:
    from kinetic_runner.composing import blame, compose

    base = _present(job.context)
    composed = compose(base, job.layers, job.scratch / CONTEXT_FILE)
    wanted = job.arguments.context_sha256
    if wanted is not None and composed.sha256 != wanted.strip().lower():
        raise ValueError(
            f"the context of {base.uri} and its layers is not what the client sent: SHA-256 {composed.sha256},"
            f" expected {wanted}; {blame(base, job.layers)}"
        )
    job.context = composed


def _imported(job: Job) -> Callable[..., Any]:
    try:
        return find_function(job.payload[keys.FUNC], job.workspace)
    except Exception as error:
        add_notes(error, lambda error: hints(error, {}, job.plan))
        raise


def _take_shared(job: Job) -> None:
    """Put the function that many calls share, and the arguments meant for it, in the place of the call of it."""
    path = _shared_payload(job)
    try:
        shared = load_pickle(path, job.names)
    except Exception as error:
        raise loading_failure(error, path, job.plan) from error
    # Where no argument is a reference, they lie in the object that is called.
    own = job.function.keywords if isinstance(job.function, partial) else job.kwargs
    job.function = shared[keys.FUNC]
    job.args = (*shared[keys.ARGS], *own[keys.SHARED_ARGS])
    job.kwargs = {**shared[keys.KWARGS], **own[keys.SHARED_KWARGS]}


def _shared_payload(job: Job) -> Path:
    return Path(job.args[0], PAYLOAD_FILE)


def _tell_skew(job: Job, payload: Mapping[str, Any]) -> None:
    """Tell once of each version that differs; where nothing is pickled, they may."""
    for line in () if job.format.plain else skew_lines(payload):
        if line not in job.told_skew:
            job.told_skew.add(line)
            job.log.caution(f"other versions here than at the client: {line}")


def _meet(job: Job) -> None:
    """Let this host meet the others, where a backend and the client's plugins provide for it."""
    if not job.environ.get(ENV_COORDINATOR):
        return
    with image_path():
        from kinetic_runner.meeting import join, wanted

    job.meetings = join(wanted(job.plan), job.environ, index=job.host_index, log=job.log)


def _present(fetched: Fetched | None) -> Fetched:
    if fetched is None:
        raise RuntimeError("an artifact is used before it was fetched")
    return fetched
