"""From a request whose way is clear to a job: package, stage, record, submit."""

import os
from pathlib import Path, PurePosixPath
from typing import Any

import attrs

from kinetic import settings
from kinetic.jobs.connection import Connection
from kinetic.jobs.handle import JobHandle
from kinetic.jobs.ledger import JobRecord, forget_job, now, record_job, update_job
from kinetic.jobs.starting import submit_or_find
from kinetic.log import get_logger
from kinetic.scratch import scratch
from kinetic.submission.contexts import clean_contexts, share_context
from kinetic.submission.image import begin_image
from kinetic.submission.inspection import report_findings
from kinetic.submission.prepare import Prepared, prepare
from kinetic.submission.recover import step
from kinetic.submission.sharing import SharedContext
from kinetic.submission.stage import Staging, job_folder, stage_package
from kinetic.submission.target import Target, read_secrets
from kinetic_core.model.job import JobRef, JobSpec
from kinetic_core.model.request import RunRequest
from kinetic_core.plugin import Capability
from kinetic_core.wire import names


def package_and_launch(connection: Connection, target: Target, *, shared: bool) -> JobHandle[Any]:
    """Package, stage, record and submit.

    Args:
        connection: For the plugins.
        target: Where the request goes.
        shared: Its store was configured explicitly, so others may use it too.

    Raises:
        PackagingError: The project or a `Data` cannot ship.
        SerializationError: The function or an argument cannot travel.
        SubmissionError: The job could not be started; nothing was left in the store.
    """
    with scratch() as directory:
        with step("package"):
            prepared = prepare(
                target.request,
                connection,
                target.driver,
                target.store,
                directory=directory,
                announce=report_findings,
            )
            report_findings(prepared.package.own_findings)
        return _launch(connection, target, prepared, shared=shared, directory=directory)


def _launch(
    connection: Connection, target: Target, prepared: Prepared, *, shared: bool, directory: Path
) -> JobHandle[Any]:
    """Stage, record and submit; whatever fails, nothing of it stays."""
    request, store = target.request, target.store
    staging = Staging(store, job_folder(request.job_id, request.name, request.surroundings, shared=shared))
    try:
        image = begin_image(target.driver, target.backend, request.options, prepared.package)
        with step("stage data"):
            staging.put_data(prepared.data)
        with step("stage artifacts"):
            context = _shared_context(target, prepared, staging, directory)
            spec = _spec(request, prepared, staging, context)
        with step("make image"):
            spec = attrs.evolve(spec, image=image())
        debug_root = str(prepared.package.root.path) if request.options.debug else ""
        record = _record(request, spec, staging.folder, context, debug_root=debug_root)
        with step("save handle"):
            record_job(store, record)
        with step("submit"):
            ref = submit_or_find(target.backend, spec)
    except BaseException:
        _undo(request, staging)
        raise
    if ref != record.ref:
        record = attrs.evolve(record, ref=ref)
        update_job(store, record)
    if context is not None:
        clean_contexts(store, request.surroundings)
    get_logger("kinetic.submission").info(
        "job_submitted", job_id=request.job_id, backend=record.backend, store=store.url
    )
    return JobHandle(record, connection)


def _shared_context(target: Target, prepared: Prepared, staging: Staging, directory: Path) -> SharedContext | None:
    """Put the context where other jobs find it too; `None` where it has to lie in the job's own folder."""
    environ = target.request.surroundings.environ
    if Capability.CONTEXT_LAYERS not in target.driver.capabilities or settings.cache_mode(environ)[0] == "off":
        return None
    result = f"{staging.folder}/{_result_file(prepared.package.payload.path.name)}"
    surroundings = target.request.surroundings
    return share_context(target.store, surroundings, prepared, job=staging.folder, result=result, directory=directory)


def _spec(request: RunRequest, prepared: Prepared, staging: Staging, context: SharedContext | None) -> JobSpec:
    staged = stage_package(staging, prepared.package, context=None if context is None else context.staged)
    options = request.options
    return JobSpec(
        job_id=request.job_id,
        name=request.name,
        options=options,
        context=staged.context,
        payload=staged.payload,
        requirements=staged.requirements,
        result_url=staging.storage.url_of(f"{staging.folder}/{_result_file(staged.payload.url)}"),
        job_url=staging.storage.url_of(staging.folder),
        output_dir=prepared.output_dir,
        volumes=tuple(reference.to_dict() for reference in prepared.volumes),
        secrets=read_secrets(request),
        allowed_serialization=options.allowed_serialization or names.DEFAULT_FORMATS,
    )


def _result_file(payload_url: str) -> str:
    """Return the name of the result: in the payload's format, and so with its suffix."""
    return str(PurePosixPath(names.RESULT_FILE).with_suffix(PurePosixPath(payload_url).suffix))


def _record(
    request: RunRequest, spec: JobSpec, folder: str, context: SharedContext | None, *, debug_root: str
) -> JobRecord:
    backend, storage = request.options.backend or "", request.options.storage or ""
    return JobRecord(
        job_id=request.job_id,
        backend=backend,
        func_name=request.name,
        accelerator=request.options.accelerator,
        created_at=now(),
        storage=storage,
        folder=folder,
        result_file=_result_file(spec.payload.url),
        ref=JobRef(backend=backend, job_id=request.job_id, details=_known_before(spec)),
        context=context.folder if context is not None else "",
        debug_root=debug_root,
    )


def _known_before(spec: JobSpec) -> dict[str, str]:
    """Return what tells a backend of a job that nobody lived to say was submitted; the local one needs no more."""
    return {"job_url": spec.job_url, "machine": os.uname().nodename}


def _undo(request: RunRequest, staging: Staging) -> None:
    """Take back what was staged; a store that refuses that too is named, and hides no first failure."""
    try:
        staging.undo()
        forget_job(staging.storage, request.job_id, staging.folder)
    except Exception as error:  # noqa: BLE001  the failure that brought us here is the one to report
        get_logger("kinetic.submission").warning(
            "staged_artifacts_left",
            store=staging.storage.url,
            folder=staging.folder,
            error=repr(error),
            remedy="remove the folder by hand",
        )
