"""`kinetic explain`: what would ship and why. It submits and uploads nothing."""

from pathlib import Path
from typing import Annotated

import typer

from kinetic.cli.options import Args, AsJson, FileFunction, Kwargs
from kinetic.cli.output import print_json


def explain(
    target: FileFunction,
    *,
    args: Args = None,
    kwargs: Kwargs = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every file; without it long lists are folded.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Draw what would ship as a treemap, on a page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what would ship and why; submit and upload nothing.

    A function that needs arguments is looked at alone, unless --args or --kwargs give them.
    """
    from kinetic.cli.explanation import explain_target
    from kinetic.cli.page import write_page
    from kinetic.cli.report import report_lines
    from kinetic.cli.target import load_target

    explanation = explain_target(load_target(target, args, kwargs))
    if html is not None:
        write_page(explanation, html)
    if as_json:
        print_json(explanation.to_json())
        return
    print("\n".join(line.rstrip() for line in report_lines(explanation, fold=not show_all)))
