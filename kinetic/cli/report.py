"""The text of `kinetic explain`."""

from collections.abc import Iterator, Sequence
from typing import Final

from kinetic.cli.explanation import Explanation
from kinetic.cli.imports import ThirdPartyImport
from kinetic.cli.output import human_size
from kinetic.cli.tree import tree_lines
from kinetic.log import sentence
from kinetic_core.findings import Finding, sort_findings
from kinetic_core.packaging.inspections import files
from kinetic_core.packaging.printable import printable

_NAMES_SHOWN: Final = 5


def report_lines(explanation: Explanation, *, fold: bool) -> Iterator[str]:
    """Yield the lines of the text.

    Args:
        explanation: What to tell.
        fold: Shorten long lists and the tree.
    """
    alone = "" if explanation.is_call else " (alone: give --args or --kwargs to include a call's arguments)"
    yield f"{printable(explanation.function)}{alone}"
    sections = (
        _root(explanation),
        _context(explanation, fold=fold),
        _exclusions(explanation, fold=fold),
        _listing("skipped", [f"{item.name}: {item.reason}" for item in explanation.package.manifest.skipped]),
        _listing("secret-looking files", explanation.secret_files),
        _payload(explanation),
        _listing("modules by value", explanation.package.modules_by_value),
        _imports(explanation),
        _references(explanation),
        _environment(explanation),
        _findings(explanation.package.findings),
    )
    for section in sections:
        yield ""
        yield from section


def _root(explanation: Explanation) -> Iterator[str]:
    root = explanation.package.root
    yield f"package root: {printable(str(root.path))}"
    yield f"  chosen at step '{root.step}': {printable(root.reason)}"
    yield from (f"  - {printable(step)}" for step in root.trail)


def _context(explanation: Explanation, *, fold: bool) -> Iterator[str]:
    manifest = explanation.package.manifest
    count = len(files(manifest))
    compressed = human_size(explanation.package.context.size_bytes)
    yield f"context archive: {count:,} files, {human_size(explanation.size_bytes)} ({compressed} compressed)"
    yield from (f"  {line}" for line in tree_lines(manifest.entries, fold=fold))


def _exclusions(explanation: Explanation, *, fold: bool) -> Iterator[str]:
    found = explanation.exclusions_by_rule
    yield f"left out: {sum(len(names) for _, _, names in found):,}" if found else "left out: nothing"
    for source, rule, names in found:
        shown = names[:_NAMES_SHOWN] if fold else names
        more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
        yield printable(f"  {len(names):,} by {rule!r} ({source}): {', '.join(shown)}{more}")


def _payload(explanation: Explanation) -> Iterator[str]:
    package = explanation.package
    # The pickler's frames are the scale: what is lighter weighs nothing on it.
    fine = "" if package.payload_components else ", too small to tell its parts apart"
    yield f"payload: {human_size(package.payload.size_bytes)}{fine}"
    yield from (
        f"  {printable(component.name)}  {human_size(component.size_bytes)}" for component in package.payload_components
    )


def _imports(explanation: Explanation) -> Iterator[str]:
    file = explanation.package.dependency_file
    yield f"dependency file: {printable(str(file)) if file else 'none'}"
    yield from _listing("third-party imports", [_import(found) for found in explanation.imports])


def _import(found: ThirdPartyImport) -> str:
    what = f"{found.distribution} {found.version}" if found.distribution else "not installed here"
    declared = {True: "declared", False: "NOT in the dependency file", None: "no dependency file"}[found.declared]
    return f"{found.module}: {what}, {declared} (used by {', '.join(found.used_by)})"


def _references(explanation: Explanation) -> Iterator[str]:
    return _listing(
        "data that travels as references",
        [
            f"{reference.uri}{f' at {reference.mount_path}' if reference.mount_path else ''}"
            for reference in explanation.package.references
        ],
    )


def _environment(explanation: Explanation) -> Iterator[str]:
    yield from _listing("environment variables captured", explanation.package.environment_names)
    if explanation.secret_names:
        yield from _listing("secrets for the backend's store", explanation.secret_names)


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    texts = [
        f"{finding.severity} {finding.code}: {sentence(finding.message, finding.remedy)}"
        for finding in sort_findings(findings)
    ]
    return _listing("findings", texts)


def _listing(title: str, items: Sequence[str]) -> Iterator[str]:
    yield f"{title}:" if items else f"{title}: none"
    yield from (f"  {printable(item)}" for item in items)
