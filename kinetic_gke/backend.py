"""The GKE backend: each job is a Kubernetes Job, or an index of one."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.job import JobEvent, JobRef, JobSpec, JobState
from kinetic_core.model.package import Package
from kinetic_core.model.request import RunOptions, RunRequest
from kinetic_core.plugin import DebugConnection, DriverContext
from kinetic_gke.accelerators import BACKEND
from kinetic_gke.building.bundler import Bundler
from kinetic_gke.building.services import Services
from kinetic_gke.cluster.access import Access, choose_access
from kinetic_gke.cluster.arrays import Place, known_places, places_in, table_of
from kinetic_gke.cluster.job import ClusterJob
from kinetic_gke.cluster.preflight import Wants
from kinetic_gke.cluster.sharing import shared_client, shared_namespace, shared_preflight
from kinetic_gke.cluster.submission import create_job
from kinetic_gke.diagnosis.look import look_at
from kinetic_gke.diagnosis.state import state_of
from kinetic_gke.images import is_bundled
from kinetic_gke.manifest.array import ArraySpec, array_manifest
from kinetic_gke.manifest.command import debug_workspace
from kinetic_gke.manifest.job import job_manifest
from kinetic_gke.manifest.names import ANNOTATION_JOB_URL, JOB_ID, job_name
from kinetic_gke.manifest.patch import patched_job
from kinetic_gke.manifest.table import number_of, tables_of
from kinetic_gke.options import check, hardware_of, site_of
from kinetic_gke.settings import GkeSettings

_CONTEXT: Final = "context"
_NAMESPACE: Final = "namespace"
_JOB_URL: Final = "job_url"
_ARRAY: Final = "array"
_INDEX: Final = "index"


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
        self._settings = GkeSettings.from_environ(context.environ, context.options)
        services = Services.from_environ(context.environ)
        self._bundler = Bundler(settings=self._settings, services=services, log=context.log)

    def preflight(self, request: RunRequest) -> Sequence[Finding]:
        """Say what would keep this request from running; nothing has been uploaded yet."""
        options = request.options
        found = list(check(options, self._settings, check_building=self._bundler.check))
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
            debug=options.debug,
            has_secrets=bool(options.secrets or self._context.storage_options),
        )
        return [*found, *preflight.findings(wants)]

    def default_storage(self, options: RunOptions) -> str:
        """Return the URL of the bucket that belongs to the cluster.

        Raises:
            ConfigError: Without a project, there is none.
        """
        return self._settings.bucket(options)

    def begin_image(self, options: RunOptions, package: Package) -> Callable[[], str]:
        """Begin to make the image of a package's jobs, unless they name one."""
        return self._bundler.begin(options, package) if is_bundled(options) else str

    def submit(self, spec: JobSpec) -> JobRef:
        """Start the job, or find it where it was submitted before.

        Raises:
            ConfigError: The job cannot be expressed as a Kubernetes Job.
            SubmissionError: The cluster refuses.
        """
        access, site = self._access(spec.options), site_of(spec.options, self._settings, spec.image)
        client = shared_client(access, self._log)
        if number_of(spec) is not None:
            known = known_places(client, site.namespace, [spec])
            if known:
                return self._ref(spec.job_id, spec.job_url, access, site.namespace, known[spec.job_id])
        complete = self._complete(spec)
        create_job(client, complete, site, self._patched(job_manifest(complete, site), complete))
        return self._ref(spec.job_id, spec.job_url, access, site.namespace)

    def submit_many(self, specs: Sequence[JobSpec], *, max_concurrent: int | None = None) -> Sequence[JobRef]:
        """Start many jobs as one Indexed Job, or as few as their numbers allow; those that are like no other alone.

        Raises:
            ConfigError: The jobs cannot be expressed as Kubernetes Jobs.
            SubmissionError: The cluster refuses.
        """
        if not specs:
            return []
        options = specs[0].options
        access, site = self._access(options), site_of(options, self._settings, specs[0].image)
        client = shared_client(access, self._log)
        places = known_places(client, site.namespace, specs)
        tables, alone = tables_of([spec for spec in specs if spec.job_id not in places])
        specs_by_id = {spec.job_id: spec for spec in specs}
        for table in tables:
            first = self._complete(specs_by_id[table.job_id(0)])
            array = ArraySpec(spec=first, table=table, max_concurrent=max_concurrent)
            job = create_job(client, array.common, site, self._patched(array_manifest(array, site), first))
            places |= dict(places_in(job))
        for spec in alone:
            self.submit(spec)
        return [self._ref(spec.job_id, spec.job_url, access, site.namespace, places.get(spec.job_id)) for spec in specs]

    def status(self, ref: JobRef) -> JobState:
        """Return how the job stands now.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        return self._job(ref).state()

    def events(self, ref: JobRef, *, timeout_s: float | None = None) -> Iterator[JobEvent]:
        """Yield what happened to the job and then what happens, until it has ended or the time is up.

        Raises:
            ClusterError: The cluster refuses, or does not answer for long.
        """
        return self._job(ref).events(timeout_s)

    def logs(self, ref: JobRef, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
        """Yield pieces of the log as text, undecodable bytes replaced."""
        return self._job(ref).logs(follow=follow, tail=tail)

    def host_logs(
        self, ref: JobRef, *, host: int | None = None, follow: bool = False, tail: int | None = None
    ) -> Iterator[str]:
        """Yield pieces of a host's log, or the lines of all with their host before each.

        Raises:
            ConfigError: The job has no such host.
            ClusterError: The cluster refuses, or does not answer.
        """
        return self._job(ref).host_logs(host, follow=follow, tail=tail)

    def debug_workspace(self, ref: JobRef) -> str:
        """Return where a job that is debugged has its files."""
        return debug_workspace(ref.details.get(_ARRAY) or job_name(ref.job_id))

    def debug_connection(self, ref: JobRef) -> DebugConnection | None:
        """Return a connection to a job's debugger, through the API server; `None` where none listens yet.

        Raises:
            ConfigError: None will: the job has ended.
            ClusterError: The cluster refuses, or does not answer.
        """
        return self._job(ref).debugger()

    def cancel(self, ref: JobRef) -> None:
        """End the job and all its pods; the cluster gives them their grace period.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        self._job(ref).cancel()

    def cleanup(self, ref: JobRef) -> None:
        """Remove the job, and with it its pods and its Secret; one that still runs ends.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        self._job(ref).cleanup()

    def find(self) -> Iterator[JobRef]:
        """Yield the jobs that wait or run in the namespace of the settings.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        access = self._access(self._options)
        namespace = shared_namespace(access, self._settings.namespace, self._log)
        for job in namespace.jobs():
            table = table_of(job)
            for job_id, place in places_in(job) if table else ():
                job_url = table.job_url(place.index or 0) if table else ""
                if not state_of(look_at(job, (), place.index)).status.is_terminal and not namespace.is_cleaned(place):
                    yield self._ref(job_id, job_url, access, namespace.name, place)
            labels, notes = job["metadata"]["labels"], job["metadata"].get("annotations") or {}
            if table is None and not state_of(look_at(job, ())).status.is_terminal:
                yield self._ref(labels[JOB_ID], notes.get(ANNOTATION_JOB_URL, ""), access, namespace.name)

    @property
    def _options(self) -> RunOptions:
        return self._settings.target()

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

    def _patched(self, job: dict[str, Any], spec: JobSpec) -> dict[str, Any]:
        """Return a Job as the site's plugins change it; they learn no secret."""
        seen = attrs.evolve(spec, secrets=dict.fromkeys(spec.secrets, ""))
        return patched_job(job, self._context.collect("kinetic_gke_patch_pod", pod=job["spec"]["template"], job=seen))

    def _job(self, ref: JobRef) -> ClusterJob:
        """Return the job, where its reference says that it is, or else where the settings do."""
        access = self._access(self._options, bound=ref.details.get(_CONTEXT, ""))
        name = ref.details.get(_NAMESPACE) or self._settings.namespace
        index = ref.details.get(_INDEX)
        return ClusterJob(
            job_id=ref.job_id,
            place=Place(
                name=ref.details.get(_ARRAY) or job_name(ref.job_id), index=None if index is None else int(index)
            ),
            namespace=shared_namespace(access, name, self._log),
            log=self._log,
        )

    def _ref(self, job_id: str, job_url: str, access: Access, namespace: str, place: Place | None = None) -> JobRef:
        details = {_CONTEXT: access.context, _NAMESPACE: namespace, _JOB_URL: job_url}
        if place is not None:
            details |= {_ARRAY: place.name, _INDEX: str(place.index)}
        return JobRef(backend=BACKEND, job_id=job_id, details=details)
