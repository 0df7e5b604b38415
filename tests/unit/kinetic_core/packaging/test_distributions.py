from importlib import metadata
from pathlib import Path

import pytest

from kinetic_core.packaging.distributions import distribution_versions


def test_a_package_is_found_under_its_distributions_name() -> None:
    assert distribution_versions(["numpy", "numpy"]) == {"numpy": metadata.version("numpy")}


def test_a_package_that_is_named_otherwise_is_found_by_what_the_distribution_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "differently_named-1.5.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: differently-named\nVersion: 1.5\n")
    (folder / "top_level.txt").write_text("oddly\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert distribution_versions(["oddly"]) == {"differently-named": "1.5"}


def test_the_standard_library_and_unknown_packages_have_none() -> None:
    assert distribution_versions(["json", "os", "no_such_package"]) == {}
