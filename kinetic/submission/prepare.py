"""Packaging a request: the core's steps in order, fed with what plugins add."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from kinetic import settings
from kinetic._version import __version__
from kinetic.hashes import HashCache
from kinetic.jobs.connection import Connection
from kinetic.submission.context import Scanned, pack_context, scan_context, second_process
from kinetic.submission.payload import PayloadWriting
from kinetic.submission.reachable import Reach
from kinetic.submission.references import References
from kinetic.submission.snapshots import SnapshotCache
from kinetic_core.errors import PackagingError, SerializationError
from kinetic_core.findings import Finding
from kinetic_core.model.package import Artifact, Package, PackageRoot
from kinetic_core.model.request import RunRequest
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.archive import Written
from kinetic_core.packaging.call import Call, WrittenPayload
from kinetic_core.packaging.capture import Captured, capture
from kinetic_core.packaging.dependencies import Dependencies, find_dependencies
from kinetic_core.packaging.ignorefile import read_ignore_file
from kinetic_core.packaging.layout import make_plan
from kinetic_core.packaging.meeting import ReferenceMet
from kinetic_core.packaging.root import find_root
from kinetic_core.packaging.rules import ALWAYS_RULES, RuleSet, data_rules
from kinetic_core.packaging.secondprocess import SecondProcess
from kinetic_core.plugin import BackendDriver, Capability, Reference, ReferenceHandler, Serializer, Storage
from kinetic_core.wire import names
from kinetic_core.wire.digest import sha256_of_file
from kinetic_core.wire.plan import Plan

_WALKED_FIRST: Final = 1_000
"""Arguments of so few values are walked before anything is written: it costs nothing, and a writing may be in vain."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Prepared:
    """A package, and what has to be staged beside it."""

    package: Package
    data: Sequence[tuple[ReferenceHandler, Any]]
    """Objects whose content travels apart, each once."""
    volumes: tuple[Reference, ...]
    output_dir: str
    """URL, or empty when there is no store yet."""
    call: Call
    """As it was written."""
    writing: PayloadWriting
    """What wrote it, and can write others like it."""


def prepare(
    request: RunRequest,
    connection: Connection,
    driver: BackendDriver | None,
    store: Storage | None,
    *,
    directory: Path,
    announce: Callable[[Sequence[Finding]], None],
    left_out: Collection[Path] = (),
) -> Prepared:
    """Package a request into a directory, uploading nothing; a failure leaves none of its files there.

    Args:
        request: With every option settled.
        connection: For the plugins.
        driver: Of the backend, where one was chosen.
        store: Where `Data` will lie; `None` when nothing is to be submitted.
        directory: Where the artifacts are written.
        announce: Told of the root before packing starts, which takes long where the root is too wide.
        left_out: More local paths that travel as references, so that the archive need not hold them.
    """
    steps = _Preparation(
        request=request,
        connection=connection,
        driver=driver,
        store=store,
        directory=directory,
        announce=announce,
        left_out=left_out,
    )
    try:
        return steps.run()
    except BaseException:
        for path in steps.written:
            path.unlink(missing_ok=True)
        raise
    finally:
        steps.second.end()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class _Project:
    """What holds whatever the arguments are; each hook is asked once a packaging."""

    root: PackageRoot
    rules: tuple[ExcludeRule, ...]
    ignored: tuple[ExcludeRule, ...]
    """By the ignore file."""
    extensions: Mapping[str, Any]
    findings: tuple[Finding, ...]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class _Draft:
    """What depends on which `Data` the call holds."""

    references: References
    scanned: Scanned
    plan: Plan


@attrs.define(kw_only=True, eq=False, repr=False)
class _Preparation:
    """One packaging; lives no longer than `prepare`."""

    request: RunRequest
    connection: Connection
    driver: BackendDriver | None
    store: Storage | None
    directory: Path
    announce: Callable[[Sequence[Finding]], None]
    left_out: Collection[Path]
    cache: SnapshotCache = attrs.field(factory=SnapshotCache.of_user, init=False)
    second: SecondProcess = attrs.field(factory=second_process, init=False)
    """Started while the tree is scanned, where there is no earlier archive to copy from."""
    written: list[Path] = attrs.field(factory=list, init=False)

    def run(self) -> Prepared:
        request = self.request
        root = find_root(request.function, request.surroundings)
        self.announce(root.findings)
        captured = capture(request.options.capture_env_vars, request.surroundings.environ)
        output_dir = self._output_dir()
        project = self._project(root)
        target = self._target(self._payload_name())
        writing = PayloadWriting.of(request, self.connection, root, self._serializer(), target)
        draft, call, payload = self._written(project, writing, captured, output_dir)
        references, scanned, plan = draft.references, draft.scanned, draft.plan
        archived = self._archive(scanned, plan)
        dependencies = find_dependencies(
            root.entry,
            request.surroundings,
            remote=self._is_isolated() or (self.driver is not None and self.driver.remote),
            installed=self._ships_requirements() or self._is_built_in(),
        )
        package = Package(
            root=root,
            plan=plan.to_json(),
            context=archived.artifact,
            payload=payload.artifact,
            requirements=self._requirements(dependencies),
            dependency_file=dependencies.path,
            dependencies=dependencies.requirements,
            manifest=archived.manifest,
            references=references.made,
            modules_by_value=payload.modules_by_value,
            environment_names=captured.names,
            payload_components=payload.components,
            findings=(
                *root.findings,
                *project.findings,
                *self._data_findings(references),
                *scanned.scan.findings,
                *captured.findings,
                *archived.findings,
                *dependencies.findings,
            ),
        )
        inspected = self.connection.host.inspect_package(package, request)
        package = attrs.evolve(package, findings=(*package.findings, *inspected))
        return Prepared(
            package=package,
            data=references.data,
            volumes=references.volumes,
            output_dir=output_dir,
            call=call,
            writing=writing,
        )

    def _project(self, root: PackageRoot) -> _Project:
        ignored, findings = read_ignore_file(root.path)
        return _Project(
            root=root,
            rules=(*ALWAYS_RULES, *self.connection.host.exclude_rules(root.path, self.request)),
            ignored=tuple(ignored),
            extensions=self.connection.host.plan_entries(root.path, self.request),
            findings=tuple(findings),
        )

    def _written(
        self, project: _Project, writing: PayloadWriting, captured: Captured, output_dir: str
    ) -> tuple[_Draft, Call, WrittenPayload]:
        """Write the payload; many arguments are walked only when writing them shows that it is needed."""
        draft = self._draft(project, self._references(most=_WALKED_FIRST if writing.seeks else None))
        call, failure = self._call(draft, captured, output_dir), None
        try:
            return draft, call, writing.seek(call)
        except ReferenceMet:
            draft = self._walked(project, draft)
        except SerializationError as error:
            # What is refused for where it lies is told first.
            draft, failure = self._walked(project, draft), error
        writing.refuse_captured(draft.references.function)
        if failure is not None:
            raise failure
        call = self._call(draft, captured, output_dir)
        return draft, call, writing.write(call)

    def _references(self, *, most: int | None) -> References:
        return References.of(self.request, self.connection, self.store.url if self.store else None, most=most)

    def _draft(self, project: _Project, references: References) -> _Draft:
        scanned = self._scan(project, references)
        plan = make_plan(
            project.root,
            self.request.surroundings,
            excluded=scanned.scan.excluded_counts,
            extensions=project.extensions,
            exclusions=scanned.scan.exclusions,
        )
        return _Draft(references=references, scanned=scanned, plan=plan)

    def _walked(self, project: _Project, draft: _Draft) -> _Draft:
        if draft.references.walked:
            return draft
        references = self._references(most=None)
        if references.local_paths == draft.references.local_paths:
            return attrs.evolve(draft, references=references)
        return self._draft(project, references)

    def _scan(self, project: _Project, references: References) -> Scanned:
        root = project.root.path
        rules = (*project.rules, *data_rules(root, (*references.local_paths, *self.left_out)), *project.ignored)
        avoid = (*self._own_output(), *self._own_places(), self.cache.folder, HashCache.of_user().folder)
        return scan_context(
            root,
            RuleSet.compile(rules),
            avoid=avoid,
            cache=self.cache,
            environ=self.request.surroundings.environ,
            second=self.second,
        )

    def _own_output(self) -> tuple[Path, ...]:
        """Return what never ships: the directory of this packaging, or only its artifacts where it holds more."""
        artifacts = {names.CONTEXT_FILE, names.PAYLOAD_FILE, self._payload_name()}
        others = {path.name for path in self.directory.iterdir()} - artifacts - {names.REQUIREMENTS_FILE}
        return tuple(self.directory / name for name in sorted(artifacts)) if others else (self.directory,)

    def _own_places(self) -> Iterator[Path]:
        """Yield where jobs of earlier submissions lie: a store inside the project would ship them all again."""
        yield settings.kinetic_home(self.request.surroundings.home)
        url = self.store.url if self.store is not None else self.request.options.storage
        if url is not None and url.startswith("file://"):
            yield Path(url.removeprefix("file://"))

    def _output_dir(self) -> str:
        if self.request.options.output_dir is not None:
            return self.request.options.output_dir
        return f"{self.store.url}/outputs/{self.request.job_id}" if self.store is not None else ""

    def _call(self, draft: _Draft, captured: Captured, output_dir: str) -> Call:
        references = draft.references
        return Call(
            function=references.function,
            args=references.args,
            kwargs=references.kwargs,
            env_vars={**captured.values, **({names.ENV_OUTPUT_DIR: output_dir} if output_dir else {})},
            data_ref_ids=references.ids,
            volumes=tuple(reference.to_dict() for reference in references.volumes),
            working_dir=str(self.request.surroundings.cwd),
            plan=draft.plan,
            kinetic_version=__version__,
        )

    def _serializer(self) -> Serializer:
        return self.connection.host.serializer(self.request.options.serialization)

    def _payload_name(self) -> str:
        return f"payload{self._serializer().suffix}"

    def _archive(self, scanned: Scanned, plan: Plan) -> Written:
        target = self._target(names.CONTEXT_FILE)
        environ = self.request.surroundings.environ
        return pack_context(scanned, plan, target, cache=self.cache, environ=environ, second=self.second)

    def _requirements(self, dependencies: Dependencies) -> Artifact | None:
        if not self._ships_requirements() or dependencies.requirements is None:
            return None
        own = dependencies.path
        if own is not None and own.name == names.REQUIREMENTS_FILE and own.parent.samefile(self.directory):
            raise PackagingError(
                f"{own} is the project's own, and packaging would write over it; choose another directory"
            )
        target = self._target(names.REQUIREMENTS_FILE)
        target.write_text(dependencies.requirements, encoding="utf-8")
        return Artifact(path=target, size_bytes=target.stat().st_size, sha256=sha256_of_file(target))

    def _data_findings(self, references: References) -> Iterator[Finding]:
        yield from references.findings
        reach = Reach(host=self.connection.host, driver=self.driver, options=self.request.options)
        yield from reach.findings(references.made, self.store.url if self.store is not None else None)

    def _ships_requirements(self) -> bool:
        return self.request.options.container_image == "prebuilt" or self._is_isolated()

    def _is_built_in(self) -> bool:
        """Tell whether the backend makes an image with what the dependency file lists."""
        makes_images = self.driver is not None and Capability.IMAGES in self.driver.capabilities
        return makes_images and self.request.options.container_image in {None, "bundled"}

    def _is_isolated(self) -> bool:
        """Tell whether the job gets, on this machine, an environment made of the dependency file alone."""
        return self.request.options.isolation == "venv" and not (self.driver is not None and self.driver.remote)

    def _target(self, name: str) -> Path:
        target = self.directory / name
        self.written.append(target)
        return target
