"""The way of a batch: the project and the function are packaged and staged once, then its inputs are taken."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import attrs

from kinetic import settings
from kinetic.jobs.attachbatch import hold, takes_arrays
from kinetic.jobs.batch import BatchHandle
from kinetic.jobs.batchrecord import BatchRecord, Limits
from kinetic.jobs.connection import Connection, connect
from kinetic.jobs.driver import Driver
from kinetic.jobs.driving import Driving
from kinetic.jobs.handle import JobHandle
from kinetic.jobs.ids import new_group_id
from kinetic.jobs.ledger import now
from kinetic.jobs.manifest import Manifest
from kinetic.log import get_logger
from kinetic.scratch import scratch
from kinetic.submission.feeding import Feeder, size_of
from kinetic.submission.image import begin_image
from kinetic.submission.inputpayload import CARRIES_OBJECTS, PayloadWriter, Shared
from kinetic.submission.inputs import bind_input, check_mode
from kinetic.submission.inspection import report_findings
from kinetic.submission.prepare import Prepared, prepare
from kinetic.submission.recover import step
from kinetic.submission.refusal import check_submission_allowed
from kinetic.submission.stage import Staging
from kinetic.submission.target import Target, choose_target, make_request, read_secrets
from kinetic_core.errors import KineticError, UsageError
from kinetic_core.model.request import RunOptions, RunRequest
from kinetic_core.packaging.callables import safe_name
from kinetic_core.walk import find
from kinetic_core.wire import names
from kinetic_core.wire.reference import Reference

R = TypeVar("R")
_SHARED: str = "shared"


def submit_batch(
    function: Callable[..., R],
    inputs: Iterable[Any],
    options: RunOptions,
    *,
    limits: Limits,
    input_mode: str,
    name: str | None,
    tags: Sequence[str] | None,
) -> BatchHandle[R]:
    """Start a call of the function for each input.

    Inputs that say how many they are (a list) are all staged when this returns. Others (a generator) are taken in
    the background, no more than are let run at once.

    Raises:
        UsageError: The inputs are no iterable, or not what `input_mode` says.
        ConfigError: A limit or a setting cannot be used.
        PreflightError: The store or the backend refused; nothing was uploaded.
        PackagingError: The project cannot ship.
        SerializationError: The function cannot travel.
        StorageError: The store failed; a note says what was staged.
    """
    check_submission_allowed(safe_name(function))
    _check_inputs(inputs, input_mode)
    request, is_shared = make_request(function, (), {}, options)
    connection = connect(request.surroundings)
    with step("preflight"):
        target = choose_target(connection, request)
    group_id = new_group_id()
    request = target.request
    staging = Staging(target.store, batch_folder(group_id, request, shared=is_shared))
    try:
        writer = _begin(
            target,
            connection,
            staging,
            draft={
                "group_id": group_id,
                "name": name or request.name,
                "tags": tuple(tags or ()),
                "limits": limits,
                "size": size_of(inputs),
            },
            left_out=tuple(_local_paths(inputs, input_mode, connection)),
        )
    except BaseException:
        staging.undo()
        raise
    get_logger("kinetic.submission").info("batch_started", group_id=group_id, store=target.store.url)
    return _feed(writer, inputs, input_mode)


def batch_folder(group_id: str, request: RunRequest, *, shared: bool) -> str:
    """Return the folder of a batch in its store.

    Args:
        group_id: Of the batch.
        request: Whose function, machine and user these are.
        shared: The store was configured explicitly: each machine and user writes below a folder of its own.
    """
    if not shared:
        return group_id
    return f"{settings.store_folder(request.surroundings)}/{settings.safe_name(request.name)}-{group_id}"


def _check_inputs(inputs: Any, mode: str) -> None:
    check_mode(mode)
    if isinstance(inputs, str | bytes) or not isinstance(inputs, Iterable):
        raise UsageError(
            f"inputs must be an iterable of inputs, such as a list or a generator, got {inputs!r} of type"
            f" {type(inputs).__name__}; write [{inputs!r}] for one input"
        )
    if isinstance(inputs, list | tuple):
        for value in inputs:
            bind_input(value, mode)


def _local_paths(inputs: Iterable[Any], mode: str, connection: Connection) -> Iterator[Path]:
    """Yield the local paths of the `Data` in inputs that can be looked at beforehand: the archive leaves them out."""
    kinds = connection.host.reference_types()
    types = tuple(kind.python_type for kind in kinds)
    for value in inputs if isinstance(inputs, list | tuple) else ():
        args, kwargs = bind_input(value, mode)
        try:
            found = find(args, kwargs, matches=lambda one: isinstance(one, types), noun="Data")
        except KineticError:
            continue  # it is refused when its turn comes
        for one in found:
            kind = next(kind for kind in kinds if isinstance(one.value, kind.python_type))
            path = connection.reference_handler(kind).local_path(one.value)
            if path is not None:
                yield path


def _begin(
    target: Target, connection: Connection, staging: Staging, *, draft: dict[str, Any], left_out: Sequence[Path]
) -> PayloadWriter:
    """Package and stage what all inputs have in common, and make the batch known."""
    request, store = target.request, target.store
    with scratch() as directory:
        with step("package"):
            prepared = prepare(
                request,
                connection,
                target.driver,
                store,
                directory=directory,
                announce=report_findings,
                left_out=left_out,
            )
            package = prepared.package
            report_findings([one for one in package.findings if one not in package.root.findings])
        image = begin_image(target.driver, target.backend, request.options, package)
        with step("stage data"):
            staging.put_data(prepared.data)
        with step("stage artifacts"):
            shared = _share(prepared, staging, directory)
            record = BatchRecord(
                **draft,
                func_name=request.name,
                created_at=now(),
                storage=store.url,
                folder=staging.folder,
                options=attrs.evolve(request.options, volumes={}),
                context=staging.put(package.context, names.CONTEXT_FILE),
                requirements=staging.put(package.requirements, names.REQUIREMENTS_FILE)
                if package.requirements
                else None,
                volumes=tuple(reference.to_dict() for reference in prepared.volumes),
                suffix=PurePosixPath(package.payload.path).suffix,
                debug_root=str(package.root.path) if request.options.debug else "",
            )
        with step("make image"):
            record = attrs.evolve(record, image=image())
    with step("save handle"):
        Manifest(storage=store, record=record).begin()
    return PayloadWriter(
        request=request, connection=connection, store=store, record=record, prepared=prepared, shared=shared
    )


def _share(prepared: Prepared, staging: Staging, directory: Path) -> Shared:
    """Stage the payload that holds the function, where the format's payloads hold one."""
    call, writing = prepared.call, prepared.writing
    uri = staging.storage.url_of(f"{staging.folder}/{_SHARED}")
    reference = Reference(uri=uri, is_dir=True, id=secrets.token_hex(8)).to_dict()
    if writing.serializer.name != CARRIES_OBJECTS:
        return Shared(call=call, reference=reference, sha256="")
    payload, rest = prepared.package.payload, attrs.evolve(call, args=(), kwargs={})
    if call.data_ref_ids:
        # Only in the payload that names a reference is it replaced: such arguments travel with each input.
        bare, rest = attrs.evolve(rest, data_ref_ids=()), call
        payload = attrs.evolve(writing, target=directory / names.PAYLOAD_FILE).write(bare).artifact
    staged = staging.put(payload, f"{_SHARED}/{names.PAYLOAD_FILE}")
    return Shared(call=rest, reference=reference, sha256=staged.sha256)


def _feed(writer: PayloadWriter, inputs: Iterable[Any], mode: str) -> BatchHandle[Any]:
    record, connection = writer.record, writer.connection
    values = read_secrets(writer.request)
    manifest = Manifest(storage=writer.store, record=record)
    backend, arrays = connection.backend(record.backend), takes_arrays(connection, record.backend)
    driving = Driving(Driver(manifest, backend, arrays=arrays, secrets=lambda: values, has_inputs=True))
    feeder = Feeder(inputs, mode=mode, writer=writer, driving=driving)
    if record.size is None:
        feeder.feed_slowly()
    else:
        try:
            feeder.feed_all()
            driving.round()
        except BaseException as error:
            error.add_note(
                f"{record.group_id} was begun: kinetic.attach_batch({record.group_id!r}) goes on with what was staged,"
                " and its cleanup() removes it"
            )
            raise
    driving.start()
    return hold(driving, lambda state: JobHandle(driving.driver.job(state), connection))
