"""`kinetic explain`: what would ship and why. It submits and uploads nothing."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from kinetic.cli.explanation import Explanation, explain_target
from kinetic.cli.imports import ThirdPartyImport
from kinetic.cli.output import AsJson, human_size, print_json
from kinetic.cli.target import Args, FileFunction, Kwargs, load_target
from kinetic.cli.tree import tree_lines
from kinetic_core.findings import Finding, sort_findings
from kinetic_core.packaging.inspections import files
from kinetic_core.packaging.printable import printable

_NAMES_SHOWN = 5


def explain(
    target: FileFunction,
    *,
    args: Args = None,
    kwargs: Kwargs = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every file; without it long lists are folded.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what would ship and why; submit and upload nothing.

    A function that needs arguments is looked at alone, unless --args or --kwargs give them.
    """
    explanation = explain_target(load_target(target, args, kwargs))
    if as_json:
        print_json(explanation.to_json())
        return
    print("\n".join(line.rstrip() for line in _lines(explanation, fold=not show_all)))


def _lines(explanation: Explanation, *, fold: bool) -> Iterator[str]:
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
    entries = explanation.package.manifest.entries
    compressed = human_size(explanation.package.context.size_bytes)
    yield f"context archive: {len(files(explanation.package.manifest)):,} files, {human_size(explanation.size_bytes)} ({compressed} compressed)"
    yield from (f"  {line}" for line in tree_lines(entries, fold=fold))


def _exclusions(explanation: Explanation, *, fold: bool) -> Iterator[str]:
    found = explanation.exclusions_by_rule
    yield f"left out: {sum(len(names) for _, _, names in found):,}" if found else "left out: nothing"
    for source, rule, names in found:
        shown = names[:_NAMES_SHOWN] if fold else names
        more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
        yield printable(f"  {len(names):,} by {rule!r} ({source}): {', '.join(shown)}{more}")


def _payload(explanation: Explanation) -> Iterator[str]:
    package = explanation.package
    yield f"payload: {human_size(package.payload.size_bytes)}"
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
        f"{finding.severity} {finding.code}: {finding.message}{f'; {finding.remedy}' if finding.remedy else ''}"
        for finding in sort_findings(findings)
    ]
    return _listing("findings", texts)


def _listing(title: str, items: Sequence[str]) -> Iterator[str]:
    yield f"{title}:" if items else f"{title}: none"
    yield from (f"  {printable(item)}" for item in items)
