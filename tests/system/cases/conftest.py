from pathlib import Path

import pytest

from tests.fakes.travelling_project import TravellingProject


@pytest.fixture
def project(tmp_path: Path) -> TravellingProject:
    """Give a project that has a root and nothing else yet."""
    made = TravellingProject(tmp_path)
    made.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    return made
