"""What tests of the runner's parts need: a log to look at, and a process that is put back."""

import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetic_runner.log import Log


class Journal(Log):
    """A log that remembers its lines."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        super().__init__(self.stream)

    @property
    def text_of_all(self) -> str:
        """Return everything that was written."""
        return self.stream.getvalue()

    @property
    def warnings(self) -> list[str]:
        """Return the warnings, without their prefix."""
        prefix = "kinetic: warning: "
        return [line[len(prefix) :] for line in self.text_of_all.splitlines() if line.startswith(prefix)]


@pytest.fixture
def journal() -> Journal:
    """Return an empty log."""
    return Journal()


@pytest.fixture
def own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put back what the runner changes of its process."""
    cwd, path, finders, environ = Path.cwd(), sys.path[:], sys.meta_path[:], dict(os.environ)
    modules, answer, umask = set(sys.modules), signal.getsignal(signal.SIGTERM), os.umask(0o022)
    os.umask(umask)
    yield
    os.umask(umask)
    os.chdir(cwd)
    sys.path[:], sys.meta_path[:] = path, finders
    os.environ.clear()
    os.environ.update(environ)
    signal.signal(signal.SIGTERM, answer)
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) and "kinetic-" in str(sys.modules[name].__file__):
            del sys.modules[name]
