"""The program as a whole: help, version, exit codes, and what it does without its extra."""

import os
import pty
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.system.cli.conftest import Cli


def test_the_version_is_that_of_the_distribution(cli: Cli) -> None:
    assert cli("--version").stdout == f"kinetic {version('kinetic-run')}\n"


@pytest.mark.parametrize("command", ["--help", "config"])
@pytest.mark.parametrize(("to", "said"), [("/dev/full", "No space left on device"), ("| true", "")])
def test_output_that_cannot_be_written_is_no_traceback(home: Path, command: str, to: str, said: str) -> None:
    redirect = to if to.startswith("|") else f"> {to}"
    shown = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m kinetic.cli {command} {redirect}"],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in shown.stderr
    assert said in shown.stderr
    assert to.startswith("|") or shown.returncode == 1


@pytest.mark.parametrize("command", ["explain", "package", "config", "plugins", "profile", "jobs"])
def test_every_command_has_help(cli: Cli, command: str) -> None:
    ended = cli(command, "--help")

    assert ended.returncode == 0
    assert ended.stdout.startswith(f"Usage: kinetic {command}")


@pytest.mark.parametrize(
    "args",
    [
        ("confg",),
        ("config", "--yaml"),
        ("package", "a.py:f"),
        ("profile", "use"),
        ("jobs", "logs", "job-00000000", "--follow", "--tail", "3"),
        ("explain", "a.py"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_says_why_on_stderr(cli: Cli, args: tuple[str, ...]) -> None:
    ended = cli(*args)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_extra_the_program_prints_the_install_command(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from kinetic.cli import main; main()"

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert ended.stderr == (
        f"kinetic: the command line needs {missing}; install with: pip install 'kinetic-run[cli]'\n"
    )


def at_a_terminal(home: Path, **environ: str) -> str:
    """Run `kinetic config` with a terminal as stdout, and return what it wrote there."""
    ours, theirs = pty.openpty()
    base = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with subprocess.Popen(
        [sys.executable, "-m", "kinetic.cli", "config"],
        stdout=theirs,
        env={**base, "HOME": str(home), "TERM": "xterm-256color", "COLUMNS": "120", **environ},
    ):
        os.close(theirs)
        written = bytearray()
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            written += piece
    os.close(ours)
    return written.decode()


def test_a_terminal_gets_colour_unless_no_color_is_set(home: Path) -> None:
    plain = at_a_terminal(home, NO_COLOR="1")
    coloured = at_a_terminal(home)

    assert "us-central1-a" in plain
    assert "us-central1-a" in coloured
    assert "\x1b[3" not in plain
    assert "\x1b[" in coloured


def test_a_reader_that_leaves_early_causes_no_traceback(home: Path) -> None:
    base = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}

    ended = subprocess.run(
        f"{sys.executable} -m kinetic.cli config | true",
        shell=True,
        env={**base, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "Traceback" not in ended.stderr
