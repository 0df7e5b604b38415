"""A log to look at."""

import io

from kinetic_runner.log import Log


class Journal(Log):
    """A log that remembers its lines."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        super().__init__(self.stream, stages=True)

    @property
    def text_of_all(self) -> str:
        """Return everything that was written."""
        return self.stream.getvalue()

    @property
    def warnings(self) -> list[str]:
        """Return the warnings, without their prefix."""
        prefix = "kinetic: warning: "
        return [line[len(prefix) :] for line in self.text_of_all.splitlines() if line.startswith(prefix)]
