"""`python -m kinetic_runner`: the program that a pod runs."""

import faulthandler
import os
import sys
from collections.abc import Sequence

from kinetic_runner.leftovers import leave, spare_the_end
from kinetic_runner.log import Log, asks_for_stages
from kinetic_runner.runner import run
from kinetic_runner.streams import unbuffer


def main(argv: Sequence[str] | None = None) -> int:
    """Run one packaged job in this process and return the exit code.

    Args:
        argv: Command line without the program's name; by default this process's.

    Raises:
        SystemExit: The command line cannot be used (2), or asks for help (0).
    """
    if argv is None:
        # What parses a command line in the job, as some modules do when they are imported, is not to find this one.
        argv, sys.argv[1:] = sys.argv[1:], []
    return run(argv, environ=os.environ, log=Log(stages=asks_for_stages(os.environ)))


if __name__ == "__main__":
    # A child process of the function imports this module under another name, and does none of this.
    unbuffer()
    faulthandler.enable()
    spare_the_end()
    leave(main(), Log())
