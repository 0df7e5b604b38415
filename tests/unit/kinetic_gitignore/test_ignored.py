"""The gitignore dialect, held against git itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinetic_core.plugin import ExcludeRule
from kinetic_gitignore.ignored import ignored

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is the yardstick")


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def patterns(root: Path) -> list[str]:
    return [rule.pattern for rule in ignored(root)]


def git(root: Path, *arguments: str) -> str:
    assert GIT is not None
    environ = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
    command = [GIT, "-c", "core.excludesFile=/dev/null", *arguments]
    return subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=True).stdout


def kept_by_git(root: Path) -> set[str]:
    return set(git(root, "ls-files", "-z", "--others", "--exclude-standard").split("\0")) - {""}


def kept_by_rules(root: Path) -> set[str]:
    covered = [Path(rule.pattern) for rule in ignored(root)]
    files = {path.relative_to(root) for path in root.rglob("*") if not path.is_dir() and ".git" not in path.parts}
    return {path.as_posix() for path in files if not any(rule == path or rule in path.parents for rule in covered)}


def test_a_matching_file_and_a_matching_directory_become_one_exact_rule_each(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "# made\n\nbuild/\n*.log\n", "build/a.log": "", "run.log": "", "src/main.py": ""})

    assert ignored(tmp_path) == (
        ExcludeRule(pattern="build", kind="path", directories_only=True, origin=".gitignore:3"),
        ExcludeRule(pattern="run.log", kind="path", origin=".gitignore:4"),
    )


def test_a_nested_file_speaks_of_its_own_directory_and_wins(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "*.csv\n",
            "a.csv": "",
            "data/.gitignore": "!keep.csv\n/local.txt\n",
            "data/keep.csv": "",
            "data/b.csv": "",
            "data/local.txt": "",
            "data/deep/local.txt": "",
            "local.txt": "",
        },
    )

    assert patterns(tmp_path) == ["a.csv", "data/b.csv", "data/local.txt"]
    assert {rule.origin for rule in ignored(tmp_path)} == {".gitignore:1", "data/.gitignore:2"}


def test_nothing_below_an_ignored_directory_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {".gitignore": "big/\n!big/keep\n", "big/keep": "", "src/x": ""})
    listed = []
    scandir = os.scandir

    def watch(path: Path) -> Any:
        listed.append(Path(path).name)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", watch)

    assert patterns(tmp_path) == ["big"]
    assert listed == [tmp_path.name, "src"]


def test_what_is_always_out_of_the_archive_is_not_entered(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "x\n", ".git/x": "", "__pycache__/x": "", "x": ""})

    assert patterns(tmp_path) == ["x"]


def test_files_above_the_root_count_up_to_the_repositorys_top(tmp_path: Path) -> None:
    root = tmp_path / "repository" / "services" / "training"
    write(
        tmp_path,
        {
            ".gitignore": "*.py\n",
            "repository/.git/HEAD": "",
            "repository/.gitignore": "*.ckpt\n",
            "repository/services/.gitignore": "training/local\n",
            "repository/services/training/a.ckpt": "",
            "repository/services/training/local/x": "",
            "repository/services/training/main.py": "",
        },
    )

    assert [(rule.pattern, rule.origin) for rule in ignored(root)] == [
        ("a.ckpt", "../../.gitignore:1"),
        ("local", "../.gitignore:1"),
    ]


def test_a_repository_that_ignores_the_root_itself_has_no_say(tmp_path: Path) -> None:
    write(
        tmp_path,
        {".git/HEAD": "", ".gitignore": "*\n", "project/.gitignore": "a\n", "project/a": "", "project/b": ""},
    )

    assert patterns(tmp_path / "project") == ["a"]


def test_a_link_to_a_directory_is_a_file_to_git_and_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "link/\nx\n", "real/x": ""})
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "loop").symlink_to(".")

    assert patterns(tmp_path) == ["real/x"]


def test_lines_that_git_passes_over_disturb_nothing(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbfa\r\n!\n/\n\xff\n[z-a]\nb\r\n")
    for name in (b"a", b"b", b"c", b"\xff"):
        (tmp_path / os.fsdecode(name)).touch()

    assert patterns(tmp_path) == ["a", "b", os.fsdecode(b"\xff")]


def test_a_link_named_gitignore_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"patterns": "x\n", "x": ""})
    (tmp_path / ".gitignore").symlink_to("patterns")

    assert patterns(tmp_path) == []


def test_characters_with_a_meaning_in_names_are_taken_literally(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "\\[a\\]*\n", "[a]*.txt": "", "a.txt": ""})

    assert ignored(tmp_path)[0].pattern == "[a]*.txt"
    assert len(ignored(tmp_path)) == 1


NAMES = st.sampled_from(["a", "b", "ab", "a.txt", "b.txt", "c"])
PIECES = st.sampled_from(["a", "b", "*", "**", "?", "a*", "*.txt", "[ab]", "[!a]", "ab", "c"])
LINES = st.builds(
    lambda negated, anchored, pieces, directory: f"{negated}{anchored}{'/'.join(pieces)}{directory}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(PIECES, min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)
FILES = st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), min_size=1, max_size=8)
IGNORE_FILES = st.dictionaries(
    st.sampled_from(["", "a/", "b/", "a/b/"]), st.lists(LINES, max_size=4).map("\n".join), max_size=3
)


@needs_git
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=FILES, ignore_files=IGNORE_FILES)
def test_what_stays_is_what_git_would_track(
    files: list[str], ignore_files: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("tree")
    git(root, "init", "-q")
    for name, text in [
        *((f"{place}.gitignore", text) for place, text in ignore_files.items()),
        *((f, "") for f in files),
    ]:
        path = root / name
        if all(parent.is_dir() or not parent.exists() for parent in path.parents) and not path.is_dir():
            write(root, {name: text})

    assert kept_by_rules(root) == kept_by_git(root)


@pytest.mark.skipif(os.name != "posix", reason="needs another user")
def test_what_cannot_be_read_is_left_to_the_archives_own_scan(tmp_path: Path) -> None:
    write(tmp_path, {"closed/x": "", "shut/.gitignore": "*", "shut/x": "", "x": "", ".gitignore": "x\n"})
    tmp_path.chmod(0o755)
    (tmp_path / "closed").chmod(0)
    (tmp_path / "shut/.gitignore").chmod(0)
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from kinetic_gitignore.ignored import ignored\n"
        "if os.getuid() == 0:\n"
        "    os.chdir(sys.argv[1])\n"
        "    os.setuid(65534)\n"
        "print([rule.pattern for rule in ignored(Path('.'))])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    (tmp_path / "closed").chmod(0o755)

    assert ended.stdout.strip() == "['shut/x', 'x']", ended.stderr
