"""`kinetic package`: write the artifacts of a call, and submit nothing."""

from pathlib import Path
from typing import Annotated, Any

import attrs
import typer

from kinetic.cli.options import Args, AsJson, FileFunction, Kwargs
from kinetic.cli.output import human_size, print_json, print_table
from kinetic_core.model.package import Artifact, Package


def package(
    target: FileFunction,
    *,
    directory: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Created when absent.")],
    args: Args = None,
    kwargs: Kwargs = None,
    as_json: AsJson = False,
) -> None:
    """Write payload, context archive and requirements into a directory; submit nothing.

    A function that needs arguments is packaged alone, unless --args or --kwargs give them.
    """
    from kinetic.cli.target import load_target
    from kinetic.submission import pipeline

    found = load_target(target, args, kwargs)
    made = pipeline.package_only(
        found.function, found.args, found.kwargs, found.options, directory, check_signature=found.is_call
    )
    if as_json:
        print_json(
            {"root": str(made.root.path), "root_step": made.root.step}
            | {name: _json(artifact) for name, artifact in _artifacts(made).items()}
            | {"findings": [finding.to_json() for finding in made.findings]}
        )
        return
    rows = [
        [str(artifact.path), human_size(artifact.size_bytes), artifact.sha256]
        for artifact in _artifacts(made).values()
        if artifact is not None
    ]
    print_table(["file", "size", "sha256"], rows, empty="")


def _artifacts(package: Package) -> dict[str, Artifact | None]:
    return {"context": package.context, "payload": package.payload, "requirements": package.requirements}


def _json(artifact: Artifact | None) -> dict[str, Any] | None:
    return None if artifact is None else {**attrs.asdict(artifact), "path": str(artifact.path)}
