"""What is wrong with a plugin, told once and raised again when something of it is asked for."""

from collections.abc import Sequence
from typing import Literal

import attrs

ProblemCode = Literal[
    "import_failed",
    "not_a_module",
    "hook_api_too_new",
    "unmarked_hook",
    "unknown_hook",
    "unknown_argument",
    "defaulted_argument",
    "unsupported_hook",
    "hook_failed",
    "wrong_answer",
    "contested_name",
]


@attrs.frozen(kw_only=True)
class Origin:
    """Where a plugin came from.

    >>> print(Origin(plugin="slurm", module="kinetic_slurm.plugin", distribution="kinetic-slurm", version="1.2"))
    kinetic-slurm 1.2, module kinetic_slurm.plugin
    """

    plugin: str
    """The entry point's name."""
    module: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}, module {self.module}"


@attrs.frozen(kw_only=True)
class Problem:
    """One fault of one plugin."""

    code: ProblemCode
    origin: Origin
    hook: str = ""
    """The hook or function that is at fault; empty when it is the whole module."""
    signature: str = ""
    """The function as its author wrote it, without annotations."""
    message: str
    """What happened, as the end of a sentence about the plugin."""
    remedy: str
    cause: BaseException | None = attrs.field(default=None, eq=False, repr=False)

    def __str__(self) -> str:
        return f"plugin {self.origin.plugin!r} ({self.origin}): {self.message}; {self.remedy}"


def explain(problems: Sequence[Problem]) -> str:
    """Return one text for several problems.

    >>> explain(())
    ''
    """
    return "\n".join(str(problem) for problem in problems)
