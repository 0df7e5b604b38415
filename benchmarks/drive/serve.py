"""A program: `serve.py MODULE NAME CONFIG`, which makes one step ready and does a round for each line that comes in.

A process that stays keeps the imports of what is measured out of every round.
"""

import gc
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer each line on stdin with one line of JSON."""
    _, module, name, config = sys.argv
    # At the end, where it hides no package of this interpreter; this folder itself is no place to import from.
    sys.path[:1] = []
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    # What is measured may print; only answers go where the parent listens.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def answer(**values: Any) -> None:
        print(json.dumps(values), file=answers, flush=True)

    try:
        from benchmarks.drive.machine import read

        step = getattr(importlib.import_module(f"benchmarks.drive.{module}"), name)(json.loads(config))
        answer(ready=True)
        for _ in sys.stdin:
            step.before()
            gc.collect()
            reading = read(step.act)
            answer(reading=reading, facts=dict(step.facts()))
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is the reason for its empty row
        answer(error=f"{type(error).__name__}: {error}".splitlines()[0])


if __name__ == "__main__":
    main()
