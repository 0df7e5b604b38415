import shutil
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.contestants import Command, ContestantError, Worker


def worker(step: str = "stat_walk", **config: str) -> Worker:
    return Worker(name="one", module="floor", step=step, config=config)


def test_a_worker_does_round_after_round_in_one_process(tmp_path: Path) -> None:
    one = worker(tree=str(tmp_path))
    first, second = one.round(), one.round()
    one.close()
    assert first.reading.wall_s > 0
    assert second.reading.wall_s > 0


def test_a_fresh_worker_starts_anew_each_time(tmp_path: Path) -> None:
    one = Worker(name="one", module="floor", step="stat_walk", config={"tree": str(tmp_path)}, fresh=True)
    assert one.round().reading.wall_s > 0
    assert one.round().reading.wall_s > 0


def test_a_worker_that_cannot_be_made_ready_tells_why() -> None:
    with pytest.raises(ContestantError, match="KeyError: 'payload'"):
        worker("read_file").round()


def test_a_worker_that_fails_in_a_round_tells_why(tmp_path: Path) -> None:
    with pytest.raises(ContestantError, match="FileNotFoundError"):
        worker(tree=str(tmp_path / "gone")).round()


def test_a_command_is_a_pipe_whose_output_is_weighed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = Command(name="c", pipeline=[["printf", "abc"], ["cat"]], cwd=tmp_path, output=out)
    assert command.round().facts == {"bytes": 3.0}
    assert command.round().facts == {"bytes": 3.0}
    assert out.read_bytes() == b"abc"


@pytest.mark.parametrize(
    ("pipeline", "reason"),
    [
        ([["false"], ["cat"]], "false ended with code 1"),
        ([["printf", "x"], ["no-such-program"]], "no-such-program cannot be started"),
    ],
)
def test_a_command_that_fails_tells_which_part(pipeline: list[list[str]], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ContestantError, match=reason):
        Command(name="c", pipeline=pipeline, cwd=tmp_path, output=tmp_path / "out").round()


def test_a_peer_that_could_not_be_installed_is_not_tried_again(tmp_path: Path) -> None:
    tmp_path.joinpath("ray.failed").write_text("not installable here: no wheel", encoding="utf-8")
    with pytest.raises(ContestantError, match="no wheel"):
        peers.interpreter(tmp_path, "ray")
    assert not shutil.which("python", path=str(tmp_path / "ray" / "bin"))
