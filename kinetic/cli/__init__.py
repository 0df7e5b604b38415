"""The command line: `kinetic`, or `python -m kinetic.cli`. It needs the extra `cli`."""

import importlib.util
import sys
from typing import Final

_NEEDED: Final = ("typer", "rich")


def main() -> None:
    """Run the command line and exit: 0 success, 1 failure, 2 wrong usage."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"kinetic: the command line needs {' and '.join(missing)}; install with: pip install 'kinetic-run[cli]'\n"
        )
        raise SystemExit(2)
    from kinetic.cli.app import run

    raise SystemExit(run())
