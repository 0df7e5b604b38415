"""The programs of the pages do what the text says, and print what it shows."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOWN = [
    "tutorial.md",
    *(
        f"how-to/{name}.md"
        for name in (
            "choose-a-format",
            "data-and-volumes",
            "environment-and-secrets",
            "jobs-that-outlive-their-client",
            "map-over-inputs",
            "test-locally",
        )
    ),
]
FILE = re.compile(r"`([\w/]+\.\w+)`:\n\n```\w+\n(.*?)```", flags=re.DOTALL)
END = "-- end of a command --"


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep jobs in a folder of the test; find `python` and `kinetic` where a reader's environment has them."""
    monkeypatch.setenv("KINETIC_STORAGE", (tmp_path / "store").as_uri())
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def build(page: str, folder: Path) -> None:
    """Write the files that a page shows."""
    for name, source in FILE.findall((ROOT / "docs" / page).read_text(encoding="utf-8")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source, encoding="utf-8")


def sessions(page: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the commands with the output shown, block by block."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL):
        yield [(command, shown) for command, shown in re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", block)]


def execute(commands: list[str], folder: Path) -> list[str]:
    """Run the commands in one shell, and return what each printed."""
    script = "".join(f"{command}\necho '{END}'\n" for command in commands)
    ran = subprocess.run(["bash", "-e", "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.split(f"{END}\n")[:-1]


def alike(printed: str) -> str:
    """Number processes in the order in which they are named; no two runs have the same."""
    found = list(dict.fromkeys(re.findall(r"process \d+", printed)))
    return re.sub(r"process \d+", lambda match: f"process #{found.index(match[0])}", printed)


@pytest.mark.parametrize("page", SHOWN)
def test_the_output_that_a_page_shows_is_what_its_programs_print(page: str, tmp_path: Path) -> None:
    build(page, tmp_path / "reader")
    shown = [block for block in sessions(page) if any(output for _, output in block)]
    assert shown
    for block in shown:
        printed = execute([command for command, _ in block], tmp_path / "reader")
        assert [alike(text) for text in printed] == [alike(text) for _, text in block]


def test_every_page_that_shows_output_is_checked() -> None:
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("how-to/*.md")]
    assert [
        page for page in pages if page not in SHOWN and any(out for block in sessions(page) for _, out in block)
    ] == []


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_program_of_a_page_runs_as_it_stands(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert block is not None
    program = tmp_path / "project" / "program.py"
    program.parent.mkdir()
    program.write_text(block[1] + "\nprint('area', area.local(3, 4))\n", encoding="utf-8")
    assert execute(["python program.py"], program.parent)[0].splitlines()[-1] == "area 12"


def test_the_plugin_of_its_page_installs_as_written_and_keeps_checkpoints_at_home(tmp_path: Path) -> None:
    reader = tmp_path / "reader"
    build("how-to/write-a-plugin.md", reader)
    site = tmp_path / "site"
    offline = ["--offline", "--no-deps", "--no-build-isolation", "--cache-dir", str(tmp_path / "cache")]
    install = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, *offline]
    subprocess.run([*install, "--target", str(site), "-e", "."], cwd=reader, check=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text("import kinetic\n\n\n@kinetic.run\ndef train(): ...\n")
    (tmp_path / "project" / "old.ckpt").write_text("weights")
    # An editable install is a .pth file, which is read in site directories only.
    (pth,) = site.glob("*kinetic_checkpoints*.pth")
    path = f"PYTHONPATH={site}:{pth.read_text().strip()}"
    commands = [f"{path} kinetic plugins --check", f"{path} kinetic explain project/train.py:train"]
    checked, explained = execute(commands, tmp_path)
    assert "checkpoints" in checked
    assert "plugin:checkpoints" in explained
