"""One run, from the command line to the exit code."""

import os
import sys
import traceback
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Final

from kinetic_core.wire.names import ENV_ATTEMPT
from kinetic_runner import debugger
from kinetic_runner.arguments import Arguments, parse
from kinetic_runner.delivery import Destination
from kinetic_runner.filenames import FileNames
from kinetic_runner.formats import format_of
from kinetic_runner.hosts import host_index, worker_result_uri
from kinetic_runner.invoke import Outcome, failure
from kinetic_runner.job import Job, begin
from kinetic_runner.log import Log
from kinetic_runner.report import Report
from kinetic_runner.scratch import make_scratch
from kinetic_runner.stages import DEBUGGER, PHASES, Phase
from kinetic_runner.termination import Termination
from kinetic_runner.uris import local_path

SUCCESS: Final = 0
FAILURE: Final = 1


def run(argv: Sequence[str], *, environ: MutableMapping[str, str], log: Log) -> int:
    """Run one packaged job in this process, and write its record.

    The process is changed as the job wants it: import path, working directory, environment, SIGTERM.

    Args:
        argv: Command line without the program's name.
        environ: This process's environment.
        log: Told of every phase.

    Returns:
        0 when the function returned, 1 when it or a phase failed.

    Raises:
        SystemExit: The command line cannot be used (2), or asks for help (0).
    """
    arguments = parse(argv)
    index, warnings = host_index(environ)
    for warning in warnings:
        log.caution(warning)
    try:
        scratch = make_scratch(environ, at_once=_fills_scratch(arguments))
    except OSError as error:
        _report_early(arguments, index, error, log)
        return FAILURE
    job = begin(arguments, environ, log, host_index=index, scratch=scratch)
    try:
        report = _report(arguments, index, scratch, environ, log)
    except Exception:  # noqa: BLE001 - there is nowhere to write a record to; the log is all that is left
        log.text(traceback.format_exc())
        job.clean()
        return FAILURE
    try:
        return _Run(job, report).run()
    finally:
        job.clean()


def _fills_scratch(arguments: Arguments) -> bool:
    """Tell whether something is put into the private directory before anybody knows of data."""
    used = (arguments.context, arguments.payload, arguments.result, arguments.requirements)
    is_remote = any(local_path(uri) is None for uri in used if uri is not None)
    return is_remote or bool(arguments.context_layers) or arguments.workspace is None


def _report(arguments: Arguments, index: int, scratch: Path, environ: Mapping[str, str], log: Log) -> Report:
    destination = Destination(worker_result_uri(arguments.result, index), scratch)
    if environ.get(ENV_ATTEMPT):
        destination.clear(log)
    return Report(destination, form=format_of(arguments.result), host_index=index, log=log)


def _report_early(arguments: Arguments, index: int, error: OSError, log: Log) -> None:
    """Record that there is no private directory; a local store has room for a part file of its own."""
    outcome = failure(error)
    log.text(outcome.traceback or "")
    nowhere = FileNames(package_root="", workspace=Path(os.sep))
    try:
        _report(arguments, index, Path(), {}, log).write(outcome, PHASES[0][0], nowhere)
    except Exception:  # noqa: BLE001 - the log is all that is left
        log.text(traceback.format_exc())


class _Run:
    def __init__(self, job: Job, report: Report) -> None:
        self._job = job
        self._report = report
        self._phase = PHASES[0][0]
        self._process = os.getpid()
        self._termination = Termination(self._report_termination)

    def run(self) -> int:
        self._termination.install()
        outcome = self._outcome()
        if os.getpid() != self._process:
            # A fork that the function made came back out of it. What follows is the business of its parent.
            os._exit(SUCCESS if outcome.success else FAILURE)
        self._termination.defer()
        if outcome.traceback is not None:
            self._job.log.text(self._job.names.text_to_client(outcome.traceback))
        if not outcome.success:
            self._job.log.say(f"failed in phase {self._phase!r}")
        elif self._job.host_index:
            self._job.log.stage(f"host {self._job.host_index} succeeded; the value is host 0's")
            return SUCCESS
        return SUCCESS if self._told(outcome, self._phase) else FAILURE

    def _outcome(self) -> Outcome:
        phases = self._phases()
        for self._phase, act in phases:
            self._job.log.stage(self._phase)
            try:
                act(self._job)
            except BaseException as error:  # noqa: BLE001 - whatever it is, the client has to learn of it
                return failure(error)
        return self._job.outcome

    def _phases(self) -> Iterator[Phase]:
        *before, last = PHASES
        yield from before
        if debugger.is_wanted(self._job.environ, self._job.host_index):
            yield DEBUGGER
        yield last

    def _told(self, outcome: Outcome, phase: str) -> bool:
        """Write the record, and tell whether it is there and says success."""
        try:
            return self._report.write(outcome, phase, self._job.names).success
        except Exception as error:  # noqa: BLE001 - one more record is tried; then the log is all that is left
            self._job.log.text(traceback.format_exc())
            if outcome.success:
                self._told(failure(error), self._report.phase)
        return False

    def _report_termination(self) -> None:
        waiting = f"; {self._job.waiting}" if self._job.waiting else ""
        error = RuntimeError(f"the pod was told to stop (SIGTERM) in phase {self._phase!r}{waiting}")
        self._job.log.say(str(error))
        try:
            self._report.write(Outcome(error=error), self._phase, self._job.names, terminated=True)
        except Exception:  # noqa: BLE001 - the process ends in any case
            self._job.log.text(traceback.format_exc())
        self._job.clean()
        sys.stdout.flush()
