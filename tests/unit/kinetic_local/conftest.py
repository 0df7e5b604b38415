"""A local backend whose runner is a script."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.scripted_runner import ScriptedPod


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedPod]:
    """Scripted jobs; all processes, locks and temporary files must be gone in the end."""
    made = ScriptedPod(tmp_path, monkeypatch)
    made.first_id = f"job-{secrets.token_hex(4)}"
    yield made
    backend = made.open(grace_s=0.1)
    for ref in backend.find():
        backend.cancel(ref)
    assert list(made.temporary.iterdir()) == []
    state = made.home / ".kinetic/local"
    left = [
        path for name in ("live", "queue") for path in (state / name).glob("*") if not path.name.startswith("slot-")
    ]
    assert left == []
