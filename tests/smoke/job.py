"""One tiny job, run by `nox -s wheel` from outside the checkout against the installed wheel."""

import os

import kinetic


@kinetic.run(accelerator="cpu", backend="local")
def double(number: int) -> tuple[int, int]:
    """Return the double and the process that computed it."""
    return 2 * number, os.getpid()


if __name__ == "__main__":
    value, process = double(21)
    if value != 42 or process == os.getpid():
        raise SystemExit(f"expected 42 from another process, got {value} from {process} (this is {os.getpid()})")
    print(f"42, from process {process}, with {kinetic.__file__}")
