"""The half on the pod: hosts become processes of one `jax.distributed` job. It needs JAX and nothing of ours."""

import atexit
import os
import threading
from collections.abc import Callable

import jax


def join(coordinator: str, *, hosts: int, index: int) -> None:
    """Meet the other hosts; return when all are there.

    Args:
        coordinator: Address and port, kept free for host 0.
        hosts: How many there are.
        index: Which one this is.

    Raises:
        Exception: What JAX raises where they do not come.
    """
    for option, value in {
        # Several hosts of one machine cannot share what else there is.
        "jax_platforms": "cpu",
        "jax_cpu_collectives_implementation": "gloo",
        # It would take SIGTERM from the runner.
        "jax_enable_preemption_service": False,
    }.items():
        if hasattr(jax.config, option):
            jax.config.update(option, value)
    _interruptibly(
        lambda: jax.distributed.initialize(
            coordinator_address=coordinator,
            num_processes=hosts,
            process_id=index,
            # By default it is every address of the machine.
            coordinator_bind_address=coordinator,
        )
    )


def leave(*, failed: bool) -> None:
    """Part from the other hosts: when all are done, or at once where this one failed.

    Args:
        failed: The job will end with it; the others, which may wait for this host, are told to.

    Raises:
        Exception: What JAX raises where another is gone.
    """
    if failed:
        # JAX would wait for the others at the end of the process. What is registered last comes first.
        atexit.register(os._exit, 1)
        return
    _interruptibly(jax.distributed.shutdown)


def _interruptibly(call: Callable[[], None]) -> None:
    """Wait for a call in another thread: here signals are heard, which JAX would only let through afterwards."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - it is raised again
            failures.append(error)

    thread = threading.Thread(target=run, name="kinetic-jax", daemon=True)
    thread.start()
    thread.join()
    for failure in failures:
        raise failure
