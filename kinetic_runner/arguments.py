"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What the runner is asked to do; every artifact by its URI."""

    context: str
    payload: str
    result: str
    context_sha256: str | None = None
    payload_sha256: str | None = None
    requirements: str | None = None
    allowed_serialization: str | None = None
    """Comma separated; `None` when the flag is absent."""
    workspace: str | None = None
    """Directory to extract into; `None` for a private one that is removed at the end."""
    working_dir_link: bool = True


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"kinetic_runner: {message}\n")
        raise SystemExit(2)


def parse(argv: Sequence[str]) -> Arguments:
    """Read the command line.

    Raises:
        SystemExit: With code 2 and one line on stderr when it cannot be used; with code 0 after `--help`.

    >>> parse(["--context-gcs", "gs://b/c", "--payload", "gs://b/p", "--result", "gs://b/r"]).context
    'gs://b/c'
    """
    parser = _Parser(prog="kinetic_runner", description="Run one packaged job.", allow_abbrev=False)
    for name in ("context", "payload", "result"):
        parser.add_argument(f"--{name}", f"--{name}-gcs", required=True, metavar="URI")
    parser.add_argument("--requirements", "--requirements-gcs", metavar="URI")
    for name in ("context", "payload"):
        parser.add_argument(f"--{name}-sha256", metavar="HEX")
    parser.add_argument("--allowed-serialization", metavar="json,pickle")
    parser.add_argument("--workspace", metavar="DIR")
    parser.add_argument("--no-working-dir-link", dest="working_dir_link", action="store_false")
    return Arguments(**vars(parser.parse_args(argv)))
