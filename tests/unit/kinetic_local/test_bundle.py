import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kinetic_core.errors import SubmissionError
from kinetic_local import bundle
from kinetic_local.bundle import bundle_where_needed
from kinetic_local.command import _FROM_BUNDLE


@pytest.fixture
def only_on_our_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a client that has this project from its own path alone."""
    monkeypatch.setattr("site.getsitepackages", list)
    monkeypatch.setattr("site.ENABLE_USER_SITE", False)


def run(folder: str, program: str) -> str:
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({folder!r}); {program}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.usefixtures("only_on_our_path")
def test_a_checkout_on_the_clients_path_is_bundled(tmp_path: Path) -> None:
    folder = bundle_where_needed(tmp_path)
    assert sorted(path.name for path in Path(folder).iterdir()) == ["cloudpickle", "kinetic_core", "kinetic_runner"]
    found = run(folder, "import kinetic_runner.__main__, cloudpickle, kinetic_core.errors as e; print(e.__file__)")
    assert found.startswith(folder)


@pytest.mark.usefixtures("only_on_our_path")
def test_a_bundle_holds_the_pod_safe_part_and_nothing_of_the_client(tmp_path: Path) -> None:
    core = Path(bundle_where_needed(tmp_path)) / "kinetic_core"
    assert sorted(path.name for path in core.iterdir()) == ["__init__.py", "errors.py", "walk", "wire"]


@pytest.mark.usefixtures("only_on_our_path")
def test_a_bundle_is_made_once(tmp_path: Path) -> None:
    first = bundle_where_needed(tmp_path)
    before = (Path(first) / "kinetic_core/errors.py").stat().st_mtime_ns
    assert bundle_where_needed(tmp_path) == first
    assert (Path(first) / "kinetic_core/errors.py").stat().st_mtime_ns == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.usefixtures("only_on_our_path")
def test_two_clients_that_make_the_same_bundle_at_once_both_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copyfile = shutil.copyfile
    with monkeypatch.context() as busy:

        def meanwhile(source: Path, target: Path) -> None:
            busy.setattr(shutil, "copyfile", copyfile)
            bundle_where_needed(tmp_path)
            copyfile(source, target)

        busy.setattr(shutil, "copyfile", meanwhile)
        folder = bundle_where_needed(tmp_path)
    assert [str(path) for path in tmp_path.iterdir()] == [folder]


@pytest.mark.usefixtures("only_on_our_path")
def test_the_runner_starts_from_a_bundle(tmp_path: Path) -> None:
    folder = bundle_where_needed(tmp_path)
    command = [sys.executable, "-I", "-S", "-c", _FROM_BUNDLE, folder, "--help"]
    assert "Run one packaged job" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_what_a_fresh_interpreter_finds_is_not_bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    for folder, name in (
        (site, "cloudpickle"),
        (tmp_path / "checkout", "kinetic_core"),
        (tmp_path / "checkout", "kinetic_runner"),
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
    (site / "editable.pth").write_text(f"{tmp_path}/checkout\n")
    monkeypatch.setattr("site.getsitepackages", list)
    monkeypatch.setattr("site.ENABLE_USER_SITE", True)
    monkeypatch.setattr("site.getusersitepackages", lambda: str(site))
    monkeypatch.setattr(
        bundle, "_folder", lambda name: (site if name == "cloudpickle" else tmp_path / "checkout") / name
    )
    assert bundle_where_needed(tmp_path / "state") == ""
    assert not (tmp_path / "state").exists()


def test_a_package_that_is_nowhere_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "find_spec", lambda name: None)
    with pytest.raises(SubmissionError, match="needs the package kinetic_runner"):
        bundle_where_needed(tmp_path)
