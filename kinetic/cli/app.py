"""The application: all commands in one place, and how their failures look."""

import os
import sys
from typing import Annotated

import typer

from kinetic import settings
from kinetic._version import __version__
from kinetic.cli import (
    accelerators,
    batches,
    cache,
    check,
    config,
    explain,
    gc,
    jobs,
    launch,
    package,
    plugins,
    profile,
)
from kinetic.cli.output import complain
from kinetic.log import apply_environment
from kinetic_core.errors import KineticError, UsageError

FAILURE = 1
USAGE = 2


def run() -> int:
    """Run the command that `sys.argv` names, and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show must not end the command.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a program's own streams can
    try:
        code = _run()
        sys.stdout.flush()
    except OSError as error:
        # Of stdout: whatever the commands open has a name.
        if error.filename is not None or isinstance(error, KineticError):
            raise
        if not isinstance(error, BrokenPipeError):
            complain(error)
        # What could not be written is still there, and must not fail once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    return code


def _run() -> int:
    try:
        make_app()(prog_name="kinetic")
    except KineticError as error:
        complain(error)
        return USAGE if isinstance(error, UsageError) else FAILURE
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else FAILURE
    return 0


def make_app() -> typer.Typer:
    """Return the application with every command."""
    app = typer.Typer(
        name="kinetic",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_prepare)
    app.command("explain")(explain.explain)
    app.command("package")(package.package)
    app.command("launch")(launch.launch)
    app.command("check")(check.check)
    app.command("gc")(gc.gc)
    app.command("config")(config.config)
    app.command("accelerators")(accelerators.accelerators)
    app.command("plugins")(plugins.plugins)
    app.add_typer(profile.make_app(), name="profile")
    app.add_typer(jobs.make_app(), name="jobs")
    app.add_typer(batches.make_app(), name="batches")
    app.add_typer(cache.make_app(), name="cache")
    return app


def _show_version(asked: bool) -> None:  # noqa: FBT001  typer calls it so
    if asked:
        print(f"kinetic {__version__}")
        raise typer.Exit


def _prepare(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Ship a Python function to where it should run, and bring its value home."""
    del version
    apply_environment(settings.variable(settings.surroundings().environ, settings.ENV_LOG_LEVEL))
