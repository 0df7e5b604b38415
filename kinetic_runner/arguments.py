"""The command line.

Parsed by hand: the standard library's `argparse` takes a tenth of a cold start, for ten flags with one value each.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

_USAGE: Final = """\
usage: kinetic_runner --context URI --payload URI --result URI [options]

Run one packaged job: fetch it, call its function, write its result.

  --context URI                       the project's files (also --context-gcs)
  --payload URI                       the call (also --payload-gcs)
  --result URI                        where to write how it ended (also --result-gcs)
  --context-sha256 HEX                what the context must hash to
  --context-layer URI                 what makes it of the one at --context; again for each layer, in their order
  --payload-sha256 HEX                what the payload must hash to
  --requirements URI                  dependencies to install first (also --requirements-gcs)
  --allowed-serialization json,pickle formats that are accepted
  --workspace DIR                     where to extract; by default a private directory, removed at the end
  --no-working-dir-link               make no link at the client's working directory
  --help                              show this
"""
_VALUES: Final = {
    "--context": "context",
    "--context-gcs": "context",
    "--payload": "payload",
    "--payload-gcs": "payload",
    "--result": "result",
    "--result-gcs": "result",
    "--requirements": "requirements",
    "--requirements-gcs": "requirements",
    "--context-sha256": "context_sha256",
    "--payload-sha256": "payload_sha256",
    "--allowed-serialization": "allowed_serialization",
    "--workspace": "workspace",
}
_LAYER: Final = "--context-layer"
_REQUIRED: Final = ("context", "payload", "result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What the runner is asked to do; every artifact by its URI."""

    context: str
    payload: str
    result: str
    context_sha256: str | None = None
    context_layers: tuple[str, ...] = ()
    """Where there are any, the context is composed: the last one tells how."""
    payload_sha256: str | None = None
    requirements: str | None = None
    allowed_serialization: str | None = None
    """Comma separated; `None` when the flag is absent."""
    workspace: str | None = None
    """Directory to extract into; `None` for a private one that is removed at the end."""
    working_dir_link: bool = True


def parse(argv: Sequence[str]) -> Arguments:
    """Read the command line; a value follows its flag, or `=`, and the last one of a flag counts, but each of a layer.

    Raises:
        SystemExit: With code 2 and one line on stderr when it cannot be used; with code 0 after `--help`.

    >>> parse(["--context-gcs", "gs://b/c", "--payload=gs://b/p", "--result", "gs://b/r"]).context
    'gs://b/c'
    """
    given: dict[str, Any] = {}
    layers: list[str] = []
    words = iter(argv)
    for word in words:
        flag, equals, value = word.partition("=")
        if flag in _VALUES:
            given[_VALUES[flag]] = value if equals else _following(flag, words)
        elif flag == _LAYER:
            layers.append(value if equals else _following(flag, words))
        elif word == "--no-working-dir-link":
            given["working_dir_link"] = False
        elif word in ("-h", "--help"):
            sys.stdout.write(_USAGE)
            raise SystemExit(0)
        else:
            _stop(f"unknown argument {word!r}; see --help")
    missing = [f"--{name}" for name in _REQUIRED if not given.get(name)]
    if missing:
        _stop(f"missing {', '.join(missing)}; see --help")
    return Arguments(**given, context_layers=tuple(layers))


def _following(flag: str, words: Any) -> str:
    value = next(words, None)
    if value is None:
        _stop(f"{flag} needs a value")
    return str(value)


def _stop(problem: str) -> None:
    sys.stderr.write(f"kinetic_runner: {problem}\n")
    raise SystemExit(2)
