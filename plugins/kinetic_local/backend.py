"""The local backend: each job is a supervised process of its own on this machine."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kinetic_core.errors import ConfigError, SubmissionError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.job import JobEvent, JobRef, JobSpec, JobState, JobStatus
from kinetic_core.model.quantity import size_in_bytes
from kinetic_core.model.request import RunOptions, RunRequest
from kinetic_core.plugin import DriverContext
from kinetic_local.array import end_unstarted, enqueue, waiting_jobs, waits
from kinetic_local.bundle import bundle_where_needed
from kinetic_local.command import is_runner
from kinetic_local.environment import passing, standby_environ
from kinetic_local.hostlogs import read_host_logs
from kinetic_local.job import Job
from kinetic_local.launch import launch, launch_ahead
from kinetic_local.leftovers import describe_life, reference_in, settle_dead, sweep_parts
from kinetic_local.locks import is_locked, try_lock
from kinetic_local.logfile import read_log
from kinetic_local.places import Places, job_limit, local_path, make_private, private_name, root_path
from kinetic_local.pod import forget_events, host_log, hosts_of, is_known, remove_pod, request_cancel
from kinetic_local.preflight import check
from kinetic_local.reserve import is_wanted, reserve
from kinetic_local.state import Watch, job_event
from kinetic_local.turns import draw_ticket, drop_ticket
from kinetic_local.venue import is_elsewhere, venue

GRACE_S: Final = 5.0
"""Between SIGTERM and SIGKILL when a job is cancelled or its time is up."""
_FIRST_POLL_S: Final = 0.001
_LAST_POLL_S: Final = 0.05
_FIRST_LOOK_S: Final = 0.02
_LAST_WAIT_S: Final = 1.0
_CLAIMS: Final = 20
_DEFAULT_SIGNALS: Final = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGCHLD,
    signal.SIGALRM,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


class LocalBackend:
    """A place to run on this machine. It keeps no state of its own: any process of the user can go on with a job."""

    def __init__(self, context: DriverContext, *, grace_s: float = GRACE_S) -> None:
        """Open the backend.

        Args:
            context: The client's environment and home.
            grace_s: How long a job that is told to end may take over it.
        """
        self._environ = dict(context.environ)
        self._storage_options = context.storage_options
        self._log = context.log
        self._places = Places(home=context.home)
        self._grace_s = grace_s
        self._told: set[str] = set()
        """Jobs of whose damaged events the user has been told."""

    def preflight(self, request: RunRequest) -> Sequence[Finding]:
        """Say what would keep this request from running; nothing has been uploaded yet."""
        findings = tuple(check(request.options, self._places, self._environ))
        if not any(finding.severity is Severity.ERROR for finding in findings):
            self._prepare(request)
        return findings

    def default_storage(self, options: RunOptions) -> str:  # noqa: ARG002 - the interface's argument
        """Return the URL of the user's own store."""
        return "file://~/.kinetic/store"

    def submit(self, spec: JobSpec) -> JobRef:
        """Start the job, or leave it alone when it was submitted before.

        Raises:
            ConfigError: `KINETIC_LOCAL_JOBS` is no whole number above 0.
            SubmissionError: Its processes or its folders could not be made.
        """
        limit = job_limit(self._environ)
        ref = self._places.reference(spec)
        pod = self._places.pod(spec.job_id, spec.job_url)
        self._make_folders(spec)
        self._sweep(spec)
        live = self._places.live_file(spec.job_id)
        lock = _claim(live)
        if lock is None:
            return ref
        try:
            if is_known(str(pod)):
                live.unlink(missing_ok=True)
            else:
                private = private_name(self._environ)
                os.pwrite(lock, describe_life(ref, private), 0)
                self._start(spec, lock, limit, private)
        except BaseException:
            live.unlink(missing_ok=True)
            raise
        finally:
            os.close(lock)
        return ref

    def submit_many(self, specs: Sequence[JobSpec], *, max_concurrent: int | None = None) -> Sequence[JobRef]:
        """Start many jobs with one call: a process of its own starts each when there is room.

        Raises:
            ConfigError: `KINETIC_LOCAL_JOBS` is no whole number above 0.
            SubmissionError: That process or the jobs' folders could not be made; none of the jobs will start.
        """
        # One more than run, so that the next is there when one ends.
        most = min(max_concurrent or job_limit(self._environ) + 1, job_limit(self._environ) + 1)
        fresh = [spec for spec in specs if Watch(self._places.reference(spec), self._places).is_unknown]
        for spec in fresh:
            self._make_folders(spec, self._places.arrays)
        if fresh:
            enqueue(
                fresh,
                environ=self._environ,
                storage_options=self._storage_options,
                places=self._places,
                most=most,
            )
        return [self._places.reference(spec) for spec in specs]

    def status(self, ref: JobRef) -> JobState:
        """Return how the job stands now."""
        watch = Watch(ref, self._places)
        state = watch.state()
        self._tell_damage(watch, ref)
        return state

    def events(self, ref: JobRef, *, timeout_s: float | None = None) -> Iterator[JobEvent]:
        """Yield what happened to the job and then what happens, until it has ended or the time is up."""
        watch = Watch(ref, self._places)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        told, pause_s = 0, _FIRST_LOOK_S
        while True:
            events = watch.events()
            self._tell_damage(watch, ref)
            for event in events[told:]:
                yield job_event(ref.job_id, event)
            told = len(events)
            state = watch.state_after(events)
            if state.status.is_terminal and (events or not watch.events()):
                return
            left_s = _LAST_WAIT_S if deadline_s is None else deadline_s - time.monotonic()
            if left_s <= 0:
                return
            watch.wait(min(pause_s, left_s), reserve().endings)
            # What ends a wait early is the job's end; until it runs, its start must be looked for.
            pause_s = min(2 * pause_s, _LAST_WAIT_S if state.status is JobStatus.RUNNING else _LAST_POLL_S)

    def logs(self, ref: JobRef, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
        """Yield pieces of the log of host 0 as text, undecodable bytes replaced."""
        return self._logs(ref, host=0, follow=follow, tail=tail)

    def host_logs(
        self, ref: JobRef, *, host: int | None = None, follow: bool = False, tail: int | None = None
    ) -> Iterator[str]:
        """Yield pieces of a host's log, or the lines of all with their host before each.

        Raises:
            ConfigError: The job has no such host.
        """
        hosts = hosts_of(Watch(ref, self._places).pod)
        if host is not None and not 0 <= host < hosts:
            there = "one host, 0" if hosts == 1 else f"{hosts} hosts, 0 to {hosts - 1}"
            raise ConfigError(f"{ref.job_id} has no host {host}: it has {there}")
        return self._logs(ref, host=host, follow=follow, tail=tail)

    def _logs(self, ref: JobRef, *, host: int | None, follow: bool, tail: int | None) -> Iterator[str]:
        watch = Watch(ref, self._places)
        pause_s = _FIRST_LOOK_S

        def pause() -> None:
            nonlocal pause_s
            watch.wait(pause_s)
            pause_s = min(2 * pause_s, _LAST_POLL_S)

        def ended() -> bool:
            return watch.state().status.is_terminal

        def paths() -> list[Path]:
            return [Path(host_log(watch.pod, number)) for number in range(hosts_of(watch.pod))]

        waiting = pause if follow else None
        if host is None:
            return read_host_logs(paths, tail=tail, ended=ended, pause=waiting)
        return read_log(Path(host_log(watch.pod, host)), tail=tail, ended=ended, pause=waiting)

    def cancel(self, ref: JobRef) -> None:
        """End the job and all its processes: SIGTERM first, SIGKILL to what is left after the grace period."""
        watch = Watch(ref, self._places)
        if watch.state().status.is_terminal:
            return
        if not watch.is_here:
            self._log.warning("job_elsewhere", job_id=ref.job_id, machine=watch.machine, remedy="cancel it there")
            return
        request_cancel(watch.pod)
        if self._cancel_waiting(watch, ref):
            return
        self._wait_for_end(watch, signal.SIGTERM, 2 * self._grace_s + 1)
        self._wait_for_end(watch, signal.SIGKILL, 1)
        watch.events()

    def cleanup(self, ref: JobRef) -> None:
        """Remove the job's log and events; a job that still runs is cancelled first."""
        self.cancel(ref)
        watch = Watch(ref, self._places)
        remove_pod(watch.pod)

    def find(self) -> Iterator[JobRef]:
        """Yield this user's jobs that wait or run on this machine."""
        yield from self._started()
        yield from waiting_jobs(self._places)

    def _tell_damage(self, watch: Watch, ref: JobRef) -> None:
        if watch.damaged and ref.job_id not in self._told:
            self._told.add(ref.job_id)
            self._log.warning(
                "events_damaged",
                job_id=ref.job_id,
                lines=watch.damaged,
                folder=watch.pod,
                remedy="what these lines told of the job is lost; its log, and its result if it left one, are not",
            )

    def _started(self) -> Iterator[JobRef]:
        with suppress(FileNotFoundError, NotADirectoryError):
            for file in sorted(self._places.live.iterdir()):
                ref = reference_in(file)
                if not is_locked(str(file)):
                    settle_dead(file, self._places)
                elif ref:
                    yield ref

    def _make_folders(self, spec: JobSpec, *more: Path) -> None:
        pod = self._places.pod(spec.job_id, spec.job_url)
        try:
            for folder in (self._places.queue, self._places.live, pod, *more):
                make_private(folder)
        except OSError as error:
            raise SubmissionError(f"the local backend cannot make {error.filename}: {error.strerror}") from error

    def _cancel_waiting(self, watch: Watch, ref: JobRef) -> bool:
        """End a job that its array has not started yet; `False` when it has."""
        live = self._places.live_file(ref.job_id)
        lock = _claim(live) if waits(watch.pod) and live.parent.is_dir() else None
        if lock is None:
            return False
        try:
            if not is_known(watch.pod):
                end_unstarted(Path(watch.pod), live, "CANCELLED", "cancelled")
            return watch.state().status.is_terminal
        finally:
            live.unlink(missing_ok=True)
            os.close(lock)

    def _sweep(self, spec: JobSpec) -> None:
        """Take away what killed processes of this user left; that may wait, so no failure of it matters."""
        with suppress(OSError):
            for _living in self._started():
                pass
            store = root_path(spec.options.storage or self.default_storage(spec.options), self._places.home)
            if store and Path(store) in Path(local_path(spec.job_url)).parents:
                sweep_parts(Path(store), self._places, now_s=time.time())

    def _start(self, spec: JobSpec, lock: int, limit: int, folder: str) -> None:
        queue, options = str(self._places.queue), spec.options
        ticket, ticket_lock = draw_ticket(queue, spec.job_id)
        try:
            where = venue(spec, environ=self._environ, storage_options=self._storage_options, places=self._places)
            job = Job(
                job_id=spec.job_id,
                command=where.command,
                default_signals=[int(number) for number in _DEFAULT_SIGNALS],
                environ=where.environ,
                folder=folder,
                pod=str(self._places.pod(spec.job_id, spec.job_url)),
                live=str(self._places.live_file(spec.job_id)),
                live_fd=lock,
                queue=queue,
                ticket=ticket,
                ticket_fd=ticket_lock,
                limit=limit,
                result=local_path(spec.result_url),
                timeout_s=options.timeout,
                retries=options.retries,
                grace_s=self._grace_s,
                hosts=options.hosts or 1,
                memory=options.memory_limit or "",
                memory_bytes=size_in_bytes(options.memory_limit) if options.memory_limit else None,
                cpu_time_s=options.cpu_time_limit,
                venv=where.venv,
                venv_command=where.venv_command,
                venv_environ=where.venv_environ,
            )
            self._launch(spec, job)
        except BaseException:
            drop_ticket(queue, ticket)
            remove_pod(str(self._places.pod(spec.job_id, spec.job_url)))
            raise
        finally:
            os.close(ticket_lock)

    def _prepare(self, request: RunRequest) -> None:
        """Let the job's processes start while it is still being packaged."""
        options = request.options
        is_plain = not (options.secrets or options.inherit_env or is_elsewhere(options))
        if not is_plain or not is_wanted(self._environ) or reserve().is_ready:
            return
        if not bundle_where_needed(self._places.state):
            reserve().prepare(standby_environ(self._environ), _DEFAULT_SIGNALS)

    def _launch(self, spec: JobSpec, job: Job) -> None:
        """Hand the job to processes that wait for one, or to new ones where nothing else may be told from them."""
        # Some variables act when a process starts; which ones, nobody knows of secrets and of all that is inherited.
        has_any = bool(spec.secrets) or spec.options.inherit_env
        if is_wanted(self._environ) and not has_any and is_runner(job.command):
            try:
                with reserve().taken(standby_environ(self._environ)) as taken:
                    if taken is not None:
                        launch_ahead(job, *taken)
                        return
            except SubmissionError as error:
                # It is gone, whatever ended it, and what is told of it must not stand before what is true.
                self._log.debug("standby_lost", job_id=job.job_id, error=str(error))
                forget_events(job.pod)
        launch(job, passing(self._environ))

    def _wait_for_end(self, watch: Watch, number: signal.Signals, timeout_s: float) -> None:
        """Signal the supervisor as soon as it can be, and wait until it is gone."""
        deadline_s = time.monotonic() + timeout_s
        told = False
        while watch.is_alive() and time.monotonic() < deadline_s:
            told = told or watch.signal_supervisor(number)
            watch.wait(_FIRST_POLL_S if not told else _LAST_POLL_S)


def _claim(live: Path) -> int | None:
    """Lock the job's file for a supervisor; `None` when one has it, or is about to."""
    for _ in range(_CLAIMS):
        lock = try_lock(str(live))
        if lock is None:
            # Somebody may just be looking whether it is locked.
            time.sleep(_FIRST_POLL_S)
            continue
        with suppress(FileNotFoundError):
            if live.stat().st_ino == os.fstat(lock).st_ino:
                return lock
        os.close(lock)
    return None
