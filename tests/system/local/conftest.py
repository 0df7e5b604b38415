"""Local jobs in surroundings of their own; nothing of them may be left, and no network is needed."""

import os
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from kinetic.testing.log import RecordingLog
from kinetic_core.model.job import JobEvent, JobRef, JobSpec, JobState
from kinetic_core.plugin import DriverContext
from kinetic_local.backend import LocalBackend
from kinetic_local.places import Places

WAIT_S = 90


@attrs.frozen(kw_only=True)
class Machine:
    """One user's home, store, temporary files, and the distributions that can be installed there."""

    base: Path
    temporary: Path

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def store(self) -> Path:
        return self.base / "store"

    @property
    def wheels(self) -> Path:
        return self.base / "wheels"

    @property
    def environments(self) -> Path:
        return Places(home=self.home).environments

    def environ(self, **more: str) -> dict[str, str]:
        """Return a client's environment, in which installers find the distributions here and no others."""
        wheels = str(self.wheels)
        installers = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels, "UV_FIND_LINKS": wheels}
        own = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.temporary)}
        uv = {"UV_CACHE_DIR": str(self.base / "uv"), "UV_CONFIG_FILE": str(self.base / "uv.toml")}
        return own | installers | uv | more

    def open(self, **environ: str) -> LocalBackend:
        """Open a backend for a client."""
        return self.open_hasty(5.0, **environ)

    def open_hasty(self, grace_s: float, **environ: str) -> LocalBackend:
        """Open one whose jobs have only so long when they are told to end."""
        context = DriverContext(log=RecordingLog(), environ=self.environ(**environ), home=self.home)
        return LocalBackend(context, grace_s=grace_s)


@pytest.fixture
def machine(tmp_path: Path, private_temp: Path) -> Iterator[Machine]:
    made = Machine(base=tmp_path, temporary=private_temp)
    for folder in (made.home, made.store, made.wheels):
        folder.mkdir()
    (tmp_path / "uv.toml").write_text("[pip]\nno-index = true\n")
    yield made
    backend = made.open_hasty(0.1)
    for ref in backend.find():
        backend.cancel(ref)
    assert list(private_temp.iterdir()) == []


@attrs.frozen(kw_only=True)
class Ended:
    """A job that ran to its end."""

    ref: JobRef
    state: JobState
    events: list[JobEvent]
    log: str

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


def run(backend: LocalBackend, spec: JobSpec) -> Ended:
    """Run the job to its end."""
    ref = backend.submit(spec)
    events = list(backend.events(ref, timeout_s=WAIT_S))
    return Ended(ref=ref, state=backend.status(ref), events=events, log="".join(backend.logs(ref)))
