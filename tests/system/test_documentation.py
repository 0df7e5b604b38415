"""The programs in the README and the tutorial do what the text says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the programs keep their jobs in a folder of the test."""
    folder = tmp_path / "store"
    monkeypatch.setenv("KINETIC_STORAGE", folder.as_uri())
    return folder


def run(program: Path) -> str:
    """Run a program and return what it printed."""
    ran = subprocess.run([sys.executable, program], cwd=program.parent, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.usefixtures("store")
def test_the_tutorials_project_counts_primes_in_another_process(tmp_path: Path) -> None:
    text = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    files = re.findall(r"`(primes/\w+\.py)`:\n\n```python\n(.*?)```", text, flags=re.DOTALL)
    assert [name for name, _ in files] == ["primes/sieve.py", "primes/count.py"]
    for name, source in files:
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(source, encoding="utf-8")
    printed = run(tmp_path / "primes/count.py")
    called = re.search(r"called from process (\d+)", printed)
    counted = re.search(r"counting in process (\d+)", printed)
    assert called is not None
    assert counted is not None
    assert called[1] != counted[1]
    assert printed.splitlines()[-1] == "1229"


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_program_of_a_page_runs_as_it_stands(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert block is not None
    program = tmp_path / "project" / "program.py"
    program.parent.mkdir()
    program.write_text(block[1] + "\nprint('area', area.local(3, 4))\n", encoding="utf-8")
    assert run(program).splitlines()[-1] == "area 12"
