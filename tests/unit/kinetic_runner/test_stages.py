"""The list of phases, and what a phase does before the next one may see it."""

from pathlib import Path

import pytest

from kinetic_runner.arguments import Arguments
from kinetic_runner.formats import format_of
from kinetic_runner.job import Job, begin
from kinetic_runner.report import SERIALIZATION, UPLOAD
from kinetic_runner.stages import PHASES, surround
from tests.unit.kinetic_runner.journal import Journal


def test_the_phases_have_the_names_of_the_contract_in_its_order() -> None:
    assert [*(name for name, _ in PHASES), SERIALIZATION, UPLOAD] == [
        "artifact download",
        "artifact verification",
        "requirements install",
        "context extract",
        "payload unpickle",
        "environment setup",
        "data resolve",
        "execute",
        "result serialization",
        "result upload",
    ]


@pytest.mark.parametrize(("payload", "told"), [("payload.pkl", True), ("payload.json", False)])
def test_other_versions_matter_only_where_something_is_pickled(
    payload: str, told: bool, journal: Journal, tmp_path: Path
) -> None:
    arguments = Arguments(context="c", payload=payload, result="r", workspace=str(tmp_path))
    job: Job = begin(arguments, {}, journal, host_index=0, scratch=tmp_path)
    job.format = format_of(payload)
    job.payload = {"client_fingerprint": {"python": "3.99.1"}}
    surround(job)
    surround(job)
    assert journal.text_of_all.count("client Python 3.99.1 / pod Python") == int(told)
