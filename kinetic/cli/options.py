"""Arguments and options that several commands share."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
FileFunction = Annotated[
    str, typer.Argument(metavar="FILE:FUNCTION", help="Such as train.py:train, or train.py:Trainer.fit.")
]
Args = Annotated[
    str | None, typer.Option("--args", metavar="JSON", help="Positional arguments of the call: a JSON array.")
]
Kwargs = Annotated[
    str | None, typer.Option("--kwargs", metavar="JSON", help="Keyword arguments of the call: a JSON object.")
]
