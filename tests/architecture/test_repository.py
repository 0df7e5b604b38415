"""What may not stand in a committed file, and what must."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

# In pieces, so that this file is no match itself.
PACKAGE_INDEXES = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "deb.debian" + ".org")
ONE_MACHINES_PATHS = ("/root" + "/.", "/work" + "/main", "/work" + "/shared", "/work" + "/venv", "/opt" + "/pypi")
ADRS = sorted((ROOT / "docs/adr").glob("[0-9]*.md"))


def committed_texts() -> dict[Path, str]:
    """Return the text of each committed file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return {path: path.read_text(encoding="utf-8", errors="replace") for path in files if path.is_file()}


@pytest.mark.parametrize("forbidden", PACKAGE_INDEXES + ONE_MACHINES_PATHS)
def test_no_committed_file_names_a_package_index_or_a_path_of_one_machine(forbidden: str) -> None:
    texts = committed_texts()
    assert texts
    assert [str(path.relative_to(ROOT)) for path, text in texts.items() if forbidden in text] == []


def test_every_locked_requirement_is_pinned_with_its_hashes() -> None:
    for path in ROOT.glob("requirements/*.txt"):
        entries = re.split(r"^(?=[a-z0-9])", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        assert entries, path
        assert [entry for entry in entries if not re.match(r"[\w.-]+==\S+.*\n? .*--hash=sha256:", entry)] == [], path


@pytest.mark.parametrize("path", ADRS, ids=lambda path: path.stem)
def test_each_decision_has_its_four_parts(path: Path) -> None:
    headings = re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert headings == ["Context", "Decision", "Consequences", "Refused"]


def test_decisions_are_numbered_without_gaps() -> None:
    assert [int(path.name[:4]) for path in ADRS] == list(range(1, len(ADRS) + 1))


def test_every_news_fragment_is_of_a_known_kind() -> None:
    fragments = [path.name for path in (ROOT / "changelog.d").glob("*.md")]
    assert [
        name for name in fragments if not re.fullmatch(r"\w+\.(added|changed|fixed|removed)(\.\d+)?\.md", name)
    ] == []
