"""Contexts that jobs share: submitted by real processes, run by the real runner."""

import random
import time
from pathlib import Path

import pytest

from kinetic_core.model.trust import RACY_NS
from tests.fakes.project import Ended, Project
from tests.fakes.scripted_runner import wait_until

CALL = "import train; print(train.double(1))"


@pytest.fixture
def large(project: Project) -> Project:
    """A project whose archive is worth a layer."""
    chosen = random.Random(7)
    for number in range(40):
        text = "".join(chosen.choice("abcdefghijklmnop") for _ in range(8000))
        project.write(f"package_{number % 4}/module_{number:02}.py", f"text = '{text}'\n")
    # What changed just before it was packaged is packaged once more, so nothing would be known of it.
    newest_ns = max(path.stat().st_ctime_ns for path in project.root.rglob("*"))
    wait_until(lambda: time.time_ns() > newest_ns + RACY_NS + RACY_NS // 10)
    return project


def contexts(project: Project, suffix: str) -> list[Path]:
    return sorted((project.store / "cache" / "contexts").rglob(f"*{suffix}"))


def edit(project: Project, factor: int) -> None:
    project.write("helper.py", f"class Mishap(Exception):\n    pass\n\ndef twice(x):\n    return {factor} * x\n")


def test_jobs_share_a_context_and_an_edit_adds_a_small_layer(large: Project) -> None:
    for _ in range(2):
        assert large.run(CALL).out.splitlines()[-1] == "2"
    (base,) = contexts(large, "context.zip")
    assert base.stat().st_size > 100_000
    edit(large, 5)
    for _ in range(2):
        assert large.run(CALL).out.splitlines()[-1] == "5"
    (layer,) = contexts(large, ".layer")
    assert layer.stat().st_size < 4096
    edit(large, 7)
    assert large.run(CALL).out.splitlines()[-1] == "7"
    assert len(contexts(large, ".layer")) == 2
    assert contexts(large, "context.zip") == [base]
    assert not [name for name in large.stored_of_jobs() if name.endswith(".zip")]


def test_a_context_that_vanished_is_uploaded_again(large: Project) -> None:
    large.run(CALL)
    edit(large, 5)
    large.run(CALL)
    (base,), (layer,) = contexts(large, "context.zip"), contexts(large, ".layer")
    layer.unlink()
    assert large.run(CALL).out.splitlines()[-1] == "5"
    base.unlink()
    assert large.run(CALL).out.splitlines()[-1] == "5"
    assert len(contexts(large, "context.zip")) == 1


def test_a_context_that_vanishes_under_a_waiting_job_is_told(large: Project) -> None:
    ended = large.run(
        """
        import pathlib, kinetic, kinetic_local.backend, train
        submit = kinetic_local.backend.LocalBackend.submit
        def late(self, spec):
            pathlib.Path(spec.context.url.removeprefix("file://")).unlink()
            return submit(self, spec)
        kinetic_local.backend.LocalBackend.submit = late
        train.double(1)
        """,
        fails=True,
    )
    assert "failed in phase 'artifact download'" in ended.err
    assert "is not in the store (any more)" in ended.err
    assert "Submit the call again: the client uploads whatever is missing" in ended.err
    assert large.run(CALL).out.splitlines()[-1] == "2"


@pytest.mark.parametrize("layered", [False, True])
def test_a_damaged_context_fails_one_job_and_heals(large: Project, layered: bool) -> None:
    large.run(CALL)
    if layered:
        edit(large, 5)
        large.run(CALL)
    (base,) = contexts(large, "context.zip")
    data = bytearray(base.read_bytes())
    data[50_000] ^= 1
    base.write_bytes(bytes(data))
    ended = large.run(CALL, fails=True)
    assert "failed in phase 'artifact verification'" in ended.err
    assert "submit again, and it is uploaded anew" in ended.err
    assert large.run(CALL).out.splitlines()[-1] == ("5" if layered else "2")


def test_cleaning_up_one_job_takes_nothing_from_another(large: Project) -> None:
    ended = large.run(
        """
        import train
        one, other = train.double.run_async(1), train.double.run_async(2)
        one.cleanup()
        print(other.result())
        """
    )
    assert ended.out.splitlines()[-1] == "4"
    assert len(contexts(large, "context.zip")) == 1


def test_many_processes_that_submit_and_edit_at_once_get_their_own_values(large: Project) -> None:
    large.run(CALL)
    code = "import pathlib, helper, train; assert train.double(1) in (2, 5, 6, 7, 8); print('right')"
    started = [large.start(code) for _ in range(2)]
    for factor in (5, 6, 7, 8):
        edit(large, factor)
        started.append(large.start(code))
    for process in started:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out.splitlines()[-1] == "right"
    assert large.run(CALL).out.splitlines()[-1] == "8"


def test_without_the_cache_a_context_lies_with_its_job(large: Project) -> None:
    ended: Ended = large.run(
        "import train; handle = train.double.run_async(1); handle.wait(); print(handle.job_id)",
        environ={"KINETIC_CACHE": "off"},
    )
    assert f"{ended.out.split()[-1]}/context.zip" in large.stored()
    assert contexts(large, "context.zip") == []


def test_without_a_place_for_notes_a_context_lies_with_its_job(large: Project) -> None:
    (large.home / ".cache").parent.mkdir(exist_ok=True)
    (large.home / ".cache").write_text("no directory")
    ended = large.run(
        "import train; handle = train.double.run_async(1); print(handle.job_id, handle.result(cleanup=False))"
    )
    assert ended.out.split()[-1] == "2"
    assert contexts(large, "context.zip") == []
