"""`kinetic plugins`: what is installed, and what is wrong with it."""

import sys
from typing import Annotated, Any

import typer

from kinetic.cli.options import AsJson
from kinetic.cli.output import print_json, print_table
from kinetic_core.packaging.printable import printable


def plugins(
    *,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 when a plugin has a problem.")] = False,
    as_json: AsJson = False,
) -> None:
    """List each plugin with its version, hooks and problems."""
    from kinetic import settings
    from kinetic.host import load_host

    host = load_host(settings.surroundings().environ, log=_Silent())
    infos, problems = host.plugins(), host.problems()
    if as_json:
        print_json(
            [
                {
                    "name": info.name,
                    "module": info.module,
                    "distribution": info.distribution,
                    "version": info.version,
                    "hooks": list(info.hooks),
                    "problem": info.problem,
                    "disabled_by": info.disabled_by,
                }
                for info in infos
            ]
        )
    else:
        rows = [
            [info.name, _state(info), f"{info.distribution} {info.version}", ", ".join(info.hooks)] for info in infos
        ]
        print_table(["name", "state", "distribution", "hooks"], rows, empty="no plugins are installed")
        for problem in problems:
            sys.stderr.write(f"kinetic: {printable(str(problem))}\n")
    if check and problems:
        raise typer.Exit(1)


def _state(info: Any) -> str:
    if info.disabled_by:
        return f"off ({info.disabled_by})"
    return "rejected" if info.problem else "in use"


class _Silent:
    """The problems are printed here; the log need not say them too."""

    def debug(self, event: str, **details: Any) -> None:
        """Say nothing."""

    def info(self, event: str, **details: Any) -> None:
        """Say nothing."""

    def warning(self, event: str, **details: Any) -> None:
        """Say nothing."""
