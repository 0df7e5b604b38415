"""Formats that distributions of the image offer beside the runner's own."""

import subprocess
import sys
from pathlib import Path

import pytest

from kinetic_runner import formats, image
from kinetic_runner.formats import allowed_formats, format_of
from tests.architecture.source import ROOT

MODULE = "SUFFIX = '.{name}'\ndef load_payload(path): return {{}}\ndef dump_result(record): return b'{name}'\n"


def install(site: Path, **modules: str) -> None:
    """Lay modules out as a distribution would that offers each as a format of its own name."""
    offers = [f"{name} = x4_formats_{name}" for name in modules]
    folder = site / f"offers_{'_'.join(modules)}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: offers-{'-'.join(modules)}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("\n".join(["[kinetic.formats]", *offers, ""]))
    for name, source in modules.items():
        (site / f"x4_formats_{name}.py").write_text(source.format(name=name))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of the image's import path."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(image, "_PATH", (str(folder), *sys.path))
    for name in ("alpha", "beta", "gamma"):
        monkeypatch.delitem(sys.modules, f"x4_formats_{name}", raising=False)
    return folder


def test_a_format_of_the_image_is_found_by_its_suffix_and_accepted_by_its_name(site: Path) -> None:
    install(site, alpha=MODULE)
    found = format_of("gs://b/job-1/payload.alpha")
    assert found.name == "alpha"
    assert found.plain is not None
    assert found.plain.dump_result({}) == b"alpha"
    assert allowed_formats("alpha,json", {}) == ("alpha", "json")
    assert allowed_formats("alpha,json", {"KINETIC_ALLOWED_SERIALIZATION": "json,pickle"}) == ("json",)
    assert allowed_formats(None, {}) == ("json", "pickle")


def test_an_unknown_one_is_told_with_all_that_the_image_has(site: Path) -> None:
    install(site, beta=MODULE)
    install(site, alpha=MODULE)
    known = r"known formats: \['json', 'pickle', 'alpha', 'beta'\]"
    with pytest.raises(ValueError, match=f"--allowed-serialization names the unknown format 'gamma'; {known}"):
        allowed_formats("alpha,gamma", {})
    with pytest.raises(ValueError, match=f"payload.gamma names the unknown format '.gamma'; {known}"):
        format_of("gs://b/job-1/payload.gamma")


def test_a_broken_one_hides_no_other_and_is_named_when_nothing_fits(site: Path) -> None:
    install(site, alpha="raise ImportError('no library')", beta="SUFFIX = '.beta'\n", gamma=MODULE)
    assert format_of("payload.gamma").name == "gamma"
    with pytest.raises(ValueError, match=r"'alpha' \(x4_formats_alpha\) cannot be used: ImportError: no library"):
        format_of("payload.alpha")
    with pytest.raises(ValueError, match="the module lacks load_payload, dump_result"):
        format_of("payload.beta")


def test_nothing_of_the_image_is_loaded_for_a_name_alone(site: Path) -> None:
    install(site, alpha=MODULE)
    assert allowed_formats("alpha", {}) == ("alpha",)
    assert "x4_formats_alpha" not in sys.modules


def test_none_comes_from_where_the_project_lies(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tmp_path / "workspace"
    install(workspace, alpha=MODULE)
    monkeypatch.syspath_prepend(str(workspace))
    with pytest.raises(ValueError, match=r"names the unknown format '\.alpha'"):
        format_of("payload.alpha")


@pytest.mark.parametrize("name", ["json", "pickle"])
def test_no_stranger_stands_in_for_a_format_of_the_runners_own(name: str, site: Path) -> None:
    own = format_of(f"payload.{name}") if name == "json" else format_of("payload.pkl")
    install(site, **{name: MODULE})
    assert format_of("payload.json" if name == "json" else "payload.pkl") is own
    assert [entry.name for entry in formats._foreign()] == []


def test_the_runners_own_formats_read_no_metadata_of_distributions() -> None:
    program = (
        "import sys; from kinetic_runner.formats import allowed_formats, format_of;"
        "allowed_formats('json,pickle', {'KINETIC_ALLOWED_SERIALIZATION': 'json'});"
        "format_of('a.json'); format_of('a.pkl'); sys.exit('importlib.metadata' in sys.modules)"
    )
    # Without `site`: an installed distribution's .pth file may import anything.
    ran = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
