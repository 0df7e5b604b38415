"""What travels apart in a call."""

from pathlib import Path
from typing import Any

import pytest

from kinetic import settings
from kinetic.jobs.connection import connect
from kinetic.submission.references import References
from kinetic_core.errors import PackagingError
from kinetic_core.model.request import RunOptions, RunRequest
from kinetic_core.references import data as data_module
from kinetic_core.references.data import Data


def made(args: tuple[Any, ...] = (), options: RunOptions | None = None) -> References:
    surroundings = settings.surroundings()
    request = RunRequest(
        job_id="job-0a1b2c3d",
        function=print,
        args=args,
        options=options or RunOptions(),
        name="print",
        surroundings=surroundings,
    )
    return References.of(request, connect(surroundings), "file:///store")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    (path / "x.txt").write_text("x")
    return path


def test_a_call_without_data_keeps_its_very_objects() -> None:
    argument = [1, {"a": (2,)}]
    references = made((argument,))
    assert references.args[0] is argument
    assert (references.data, references.made, references.ids, references.local_paths) == ((), (), (), ())


def test_one_data_used_twice_is_one_reference_uploaded_once(folder: Path) -> None:
    data = Data(str(folder))
    references = made((data, [data]))
    assert references.args[0] is references.args[1][0]
    assert len(references.data) == len(references.ids) == 1
    assert references.local_paths == (folder,)


def test_volumes_carry_their_mount_path_and_no_id(folder: Path) -> None:
    references = made(options=RunOptions(volumes={"/data": Data(str(folder))}))
    assert [(volume.mount_path, volume.id) for volume in references.volumes] == [("/data", "")]
    assert references.ids == ()
    assert len(references.data) == 1


def test_a_refused_position_is_named(folder: Path) -> None:
    with pytest.raises(PackagingError, match=r"arg 0\['k'\]"):
        made(({"k": {Data(str(folder))}},))


def test_large_data_is_warned_about(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_module, "LARGE_BYTES", 0)
    assert [finding.code for finding in made((Data(str(folder)),)).findings] == ["data_large"]


def test_a_container_that_could_not_keep_its_type_is_warned_about(folder: Path) -> None:
    class Strict(list[Any]):
        def __init__(self, first: Any, second: Any) -> None:
            super().__init__([first, second])

    references = made((Strict(Data(str(folder)), 1),))
    assert [finding.code for finding in references.findings] == ["container_became_plain"]
    assert "Strict" in references.findings[0].message
