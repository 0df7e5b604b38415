"""The GKE backend: each job is a Kubernetes Job."""

import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.job import JobEvent, JobRef, JobSpec, JobState, JobStatus
from kinetic_core.model.request import RunOptions, RunRequest
from kinetic_core.plugin import DriverContext
from kinetic_gke.accelerators import BACKEND
from kinetic_gke.cluster.access import Access, choose_access
from kinetic_gke.cluster.ending import end_job
from kinetic_gke.cluster.logs import JobLog
from kinetic_gke.cluster.namespace import Namespace
from kinetic_gke.cluster.preflight import Wants
from kinetic_gke.cluster.sharing import shared_client, shared_namespace, shared_preflight
from kinetic_gke.cluster.submission import create_job, delete_job
from kinetic_gke.diagnosis.look import Look, look_at
from kinetic_gke.diagnosis.mark import Mark
from kinetic_gke.diagnosis.state import history, is_over, state_of
from kinetic_gke.diagnosis.waiting import hopeless
from kinetic_gke.manifest.job import job_manifest
from kinetic_gke.manifest.names import ANNOTATION_JOB_URL, JOB_ID, job_name
from kinetic_gke.manifest.patch import patched_job
from kinetic_gke.options import check, hardware_of, site_of
from kinetic_gke.settings import GkeSettings

_CONTEXT: Final = "context"
_NAMESPACE: Final = "namespace"
_JOB_URL: Final = "job_url"
_LONGEST_WAIT_S: Final = 30.0
CANCELLED: Final = "cancelled"


class GkeBackend:
    """Clusters of Google Kubernetes Engine, and any other that takes Jobs."""

    def __init__(self, context: DriverContext) -> None:
        """Open the backend; no cluster is asked yet.

        Args:
            context: The client's environment and home.

        Raises:
            ConfigError: A variable says what it cannot say.
        """
        self._context = context
        self._log = context.log
        self._settings = GkeSettings.from_environ(context.environ)

    def preflight(self, request: RunRequest) -> Sequence[Finding]:
        """Say what would keep this request from running; nothing has been uploaded yet."""
        options = request.options
        found = list(check(options, self._settings))
        try:
            preflight = shared_preflight(self._access(options), self._log)
        except ConfigError as error:
            return [*found, Finding(code="cluster_unknown", severity=Severity.ERROR, message=str(error))]
        if any(finding.code == "accelerator_unknown" for finding in found):
            return found
        wants = Wants(
            namespace=options.namespace or self._settings.namespace,
            hardware=hardware_of(options),
            service_account=self._settings.service_account,
            has_secrets=bool(options.secrets or self._context.storage_options),
        )
        return [*found, *preflight.findings(wants)]

    def default_storage(self, options: RunOptions) -> str:
        """Return the URL of the bucket that belongs to the cluster.

        Raises:
            ConfigError: Without a project, there is none.
        """
        return self._settings.bucket(options)

    def submit(self, spec: JobSpec) -> JobRef:
        """Start the job, or find it where it was submitted before.

        Raises:
            ConfigError: The job cannot be expressed as a Kubernetes Job.
            SubmissionError: The cluster refuses.
        """
        spec, site = self._complete(spec), site_of(spec.options, self._settings)
        access = self._access(spec.options)
        made = job_manifest(spec, site)
        patches = self._context.collect("kinetic_gke_patch_pod", pod=made["spec"]["template"], job=spec)
        create_job(shared_client(access, self._log), spec, site, patched_job(made, patches))
        return self._ref(spec.job_id, spec.job_url, access, site.namespace)

    def status(self, ref: JobRef) -> JobState:
        """Return how the job stands now.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        namespace = self._namespace(ref)
        look = namespace.look(job_name(ref.job_id))
        if look is None:
            return JobState(status=JobStatus.NOT_FOUND, reason=self._where(namespace, ref))
        state = self._given_up(namespace, look) or state_of(look)
        if state.status is JobStatus.PENDING:
            return state_of(look, namespace.fresh_news_of(look))
        return state

    def events(self, ref: JobRef, *, timeout_s: float | None = None) -> Iterator[JobEvent]:
        """Yield what happened to the job and then what happens, until it has ended or the time is up.

        Raises:
            ClusterError: The cluster refuses, or does not answer for long.
        """
        namespace, name = self._namespace(ref), job_name(ref.job_id)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        told: set[tuple[str, str, object]] = set()
        last: JobEvent | None = None
        with namespace.waiting(name) as waiter:
            while True:
                namespace.check()
                look = namespace.look_watched(name)
                if look is None:
                    if last is not None:
                        yield _removed(ref, last)
                    return
                self._given_up(namespace, look)
                for event in history(ref.job_id, look, namespace.news_of(look)):
                    key = (event.kind, event.reason, event.details.get("pod"))
                    if key not in told:
                        told.add(key)
                        last = _after(last, event)
                        yield last
                if last is not None and last.status.is_terminal:
                    return
                left_s = _LONGEST_WAIT_S if deadline_s is None else deadline_s - time.monotonic()
                if left_s <= 0:
                    return
                waiter.wait(min(left_s, namespace.news_due_s(look) or _LONGEST_WAIT_S))

    def logs(self, ref: JobRef, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
        """Yield pieces of the log as text, undecodable bytes replaced."""
        log = JobLog(
            namespace=self._namespace(ref), job=job_name(ref.job_id), index=None, job_id=ref.job_id, log=self._log
        )
        return log.follow(tail) if follow else log.read(tail)

    def cancel(self, ref: JobRef) -> None:
        """End the job and all its pods; the cluster gives them their grace period.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        namespace = self._namespace(ref)
        look = namespace.look_now(job_name(ref.job_id))
        if look is not None and not is_over(look):
            end_job(namespace, look, _mark(JobStatus.CANCELLED, CANCELLED))

    def cleanup(self, ref: JobRef) -> None:
        """Remove the job's Job, and with it its pods and its Secret; one that still runs ends.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        namespace = self._namespace(ref)
        namespace.expect(job_name(ref.job_id), lambda job: job is None)
        delete_job(namespace.client, namespace.name, job_name(ref.job_id))

    def find(self) -> Iterator[JobRef]:
        """Yield the jobs that wait or run in the namespace of the settings.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        access = self._access(self._options)
        namespace = shared_namespace(access, self._settings.namespace, self._log)
        for job in namespace.jobs():
            labels, notes = job["metadata"]["labels"], job["metadata"].get("annotations") or {}
            if not state_of(look_at(job, ())).status.is_terminal:
                yield self._ref(labels[JOB_ID], notes.get(ANNOTATION_JOB_URL, ""), access, namespace.name)

    @property
    def _options(self) -> RunOptions:
        return self._settings.target()

    def _given_up(self, namespace: Namespace, look: Look) -> JobState | None:
        """End a job that will never start; return how it stands with that."""
        reason = hopeless(look) if not state_of(look).status.is_terminal else ""
        if not reason:
            return None
        self._log.info("job_given_up", job=look.job["metadata"]["name"], reason=reason)
        end_job(namespace, look, _mark(JobStatus.FAILED, reason))
        return JobState(status=JobStatus.FAILED, reason=reason)

    def _complete(self, spec: JobSpec) -> JobSpec:
        """Add what the pod needs to know of stores to the job's secrets: credentials may be among it."""
        stores = {
            f"FSSPEC_{scheme.upper()}": json.dumps(dict(said)) for scheme, said in self._context.storage_options.items()
        }
        return attrs.evolve(spec, secrets={**stores, **spec.secrets}) if stores else spec

    def _access(self, options: RunOptions, bound: str = "") -> Access:
        return choose_access(
            options,
            context=self._settings.context,
            environ=self._context.environ,
            home=self._context.home,
            bound=bound,
        )

    def _namespace(self, ref: JobRef) -> Namespace:
        """Return where a job is: as its reference says, or else as the settings do."""
        access = self._access(self._options, bound=ref.details.get(_CONTEXT, ""))
        return shared_namespace(access, ref.details.get(_NAMESPACE) or self._settings.namespace, self._log)

    def _ref(self, job_id: str, job_url: str, access: Access, namespace: str) -> JobRef:
        details = {_CONTEXT: access.context, _NAMESPACE: namespace, _JOB_URL: job_url}
        return JobRef(backend=BACKEND, job_id=job_id, details=details)

    def _where(self, namespace: Namespace, ref: JobRef) -> str:
        name = job_name(ref.job_id)
        return f"there is no Job {name!r} in the namespace {namespace.name!r} of {namespace.client.access.name}"


def _mark(status: JobStatus, reason: str) -> Mark:
    return Mark(status=status, reason=reason, at=datetime.now(UTC))


def _after(last: JobEvent | None, event: JobEvent) -> JobEvent:
    """Return an event at a time that fits: a wait begins when it is seen, and nothing happens before what was told."""
    at = datetime.now(UTC) if event.kind == "job_waiting" else event.at
    return attrs.evolve(event, at=at if last is None else max(at, last.at))


def _removed(ref: JobRef, last: JobEvent) -> JobEvent:
    reason = "its Job was deleted"
    at = max(last.at, datetime.now(UTC))
    return JobEvent(job_id=ref.job_id, kind="job_removed", at=at, status=JobStatus.NOT_FOUND, reason=reason)
