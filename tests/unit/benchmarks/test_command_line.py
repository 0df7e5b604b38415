"""`python -m benchmarks`: what is asked wrongly is told at once."""

from pathlib import Path

import pytest

from benchmarks.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nonsense"], "there is no 'nonsense'; there are import, cold,"),
        (["--rounds", "0"], "'0' is no number above 0"),
        (["--patience", "-1"], "'-1' is no number above 0"),
        (["--largest", "many"], "'many' is no number above 0"),
        (["--object-mib", "0"], "'0' is no number above 0"),
    ],
)
def test_what_means_nothing_is_told(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        main(["--folder", str(tmp_path / "file" / "bench"), "import"])
    assert ended.value.code == 2
    assert f"nothing can be written to {tmp_path}/file/bench: Not a directory" in capsys.readouterr().err


def test_help_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "argv" not in capsys.readouterr().out
