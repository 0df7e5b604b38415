"""`kinetic check`: whether a store can be used, before anything depends on it."""

import time
from typing import Annotated

import typer

from kinetic.cli.options import AsJson
from kinetic.cli.output import print_fields, print_json
from kinetic_core.errors import UsageError

Place = Annotated[
    str | None,
    typer.Argument(
        metavar="[gs|s3|abfs|file|URL]", help="By default the store that jobs use; a scheme must be its own."
    ),
]


def check(store: Place = None, *, as_json: AsJson = False) -> None:
    """Write, read, list and delete a tiny object in the store, and say what it refuses."""
    from kinetic import settings
    from kinetic.jobs.attach import store_url
    from kinetic.jobs.connection import connect
    from kinetic.submission.preflight import probe

    surroundings = settings.surroundings()
    connection = connect(surroundings)
    url = store if store is not None and "://" in store else store_url(connection, surroundings)
    if store is not None and store != url and url.partition("://")[0] != store:
        other = "URL" if ":" in store or "/" in store else f"{store}://…"
        raise UsageError(f"the store that jobs use is {url}; to check another one, name it: kinetic check {other}")
    started, steps = time.perf_counter(), dict[str, float]()

    def passed(step: str) -> None:
        steps[step] = time.perf_counter() - started - sum(steps.values())

    opened = connection.storage(url)
    probe(opened, passed=passed)
    if as_json:
        print_json({"url": opened.url, "seconds": {step: round(took, 4) for step, took in steps.items()}})
    else:
        print_fields({"store": opened.url, **{step: f"works ({took * 1000:.0f} ms)" for step, took in steps.items()}})
