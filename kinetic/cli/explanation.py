"""What would ship and why, as one record: for `kinetic explain`, as text and as JSON."""

import sys
from collections import Counter
from typing import Any, Final

import attrs

from kinetic.cli.imports import ThirdPartyImport, third_party_imports
from kinetic.cli.target import Target
from kinetic.scratch import scratch
from kinetic.submission import pipeline
from kinetic_core.findings import sort_findings
from kinetic_core.model.package import Package
from kinetic_core.packaging.inspections import files, is_secret_looking

FORMAT: Final = 1


@attrs.frozen(kw_only=True)
class Explanation:
    """A package that was made to be looked at."""

    function: str
    is_call: bool
    """Arguments were packaged too."""
    package: Package
    imports: tuple[ThirdPartyImport, ...]
    secret_names: tuple[str, ...]
    """Names of the variables that go to the backend's own secret store; never their values."""

    @property
    def secret_files(self) -> tuple[str, ...]:
        """Archived files whose name looks like that of a secret."""
        return tuple(entry.name for entry in files(self.package.manifest) if is_secret_looking(entry.name))

    @property
    def exclusions_by_rule(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """Source, rule, and the names that it kept out; the rule with most names first within a source."""
        by_rule: dict[tuple[str, str], list[str]] = {}
        for exclusion in self.package.manifest.exclusions:
            by_rule.setdefault((exclusion.source, exclusion.rule), []).append(exclusion.name)
        ordered = sorted(by_rule.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1]))
        return tuple((source, rule, tuple(names)) for (source, rule), names in ordered)

    @property
    def size_bytes(self) -> int:
        """Size of all files in the archive, before compression."""
        return sum(entry.size_bytes for entry in self.package.manifest.entries)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object whose keys the documentation of the command line lists."""
        package = self.package
        return {
            "format": FORMAT,
            "function": self.function,
            "is_call": self.is_call,
            "root": {
                "path": str(package.root.path),
                "step": package.root.step,
                "reason": package.root.reason,
                "trail": list(package.root.trail),
                "entry": str(package.root.entry),
            },
            "plan": dict(package.plan),
            "context": {
                "size_bytes": package.context.size_bytes,
                "uncompressed_bytes": self.size_bytes,
                "entries": [attrs.asdict(entry) for entry in package.manifest.entries],
                "excluded": [
                    {"source": source, "rule": rule, "count": len(names), "names": list(names)}
                    for source, rule, names in self.exclusions_by_rule
                ],
                "excluded_by_source": dict(Counter(exclusion.source for exclusion in package.manifest.exclusions)),
                "skipped": [attrs.asdict(skipped) for skipped in package.manifest.skipped],
                "secret_files": list(self.secret_files),
            },
            "payload": {
                "size_bytes": package.payload.size_bytes,
                "components": [attrs.asdict(component) for component in package.payload_components],
                "modules_by_value": list(package.modules_by_value),
                "references": [_reference(reference.to_dict()) for reference in package.references],
            },
            "imports": [found.to_json() for found in self.imports],
            "environment": {"captured": list(package.environment_names), "secrets": list(self.secret_names)},
            "dependency_file": None if package.dependency_file is None else str(package.dependency_file),
            "findings": [finding.to_json() for finding in sort_findings(package.findings)],
        }


def explain_target(target: Target) -> Explanation:
    """Package the target into a private directory that is removed again; nothing is submitted or uploaded.

    Raises:
        UsageError: The arguments do not fit the signature.
        PackagingError: The project cannot ship.
        SerializationError: The function or an argument cannot travel.
    """
    with scratch() as directory:
        package = pipeline.package_only(
            target.function,
            target.args,
            target.kwargs,
            target.options,
            directory,
            check_signature=target.is_call,
            report=False,
        )
    modules = [sys.modules[name] for name in package.modules_by_value if name in sys.modules]
    return Explanation(
        function=target.name,
        is_call=target.is_call,
        package=package,
        imports=third_party_imports(modules, package.root.path, package.dependency_file),
        secret_names=target.options.secrets,
    )


def _reference(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: raw[key] for key in ("uri", "is_dir", "mount_path", "fuse")}
