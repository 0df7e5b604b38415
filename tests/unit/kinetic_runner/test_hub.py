"""Data sets of Hugging Face, from a local one: no hub is reached."""

import sys
from pathlib import Path

import pytest

from kinetic_runner.hub import parse
from kinetic_runner.resolve import DataPlaces, Resolver
from tests.unit.kinetic_runner.inprocess import reference
from tests.unit.kinetic_runner.journal import Journal


@pytest.mark.parametrize(
    ("uri", "name", "told"),
    [
        ("hf://ag_news", "ag_news", {}),
        ("hf://org/set?split=train[:10%]&config_name=en", "org/set", {"split": "train[:10%]", "config_name": "en"}),
    ],
)
def test_name_and_parameters_are_told_apart(uri: str, name: str, told: dict[str, str]) -> None:
    assert parse(uri) == (name, told)


@pytest.mark.usefixtures("own_process")
def test_without_the_library_the_error_says_what_is_missing(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    resolver = Resolver(DataPlaces(directory=tmp_path), None, journal)
    with pytest.raises(ImportError, match="hf://ag_news needs the package datasets, which this image lacks"):
        resolver.resolve([reference("hf://ag_news", is_dir=True)], {})


@pytest.mark.usefixtures("own_process")
def test_trust_is_passed_on_where_it_was_given(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("datasets.py").write_text(
        "import pathlib\n"
        "class Loaded:\n"
        "    def __init__(self, told): self.told = told\n"
        "    def save_to_disk(self, path):\n"
        "        pathlib.Path(path).mkdir(parents=True)\n"
        "        pathlib.Path(path, 'told').write_text(repr(self.told))\n"
        "def load_dataset(*args, **kwargs): return Loaded((args, kwargs))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("kinetic_runner.image._PATH", tuple(sys.path))
    monkeypatch.delitem(sys.modules, "datasets", raising=False)
    resolver = Resolver(DataPlaces(directory=tmp_path / "data"), None, journal)
    trusted = reference("hf://set?revision=v1", is_dir=True, hf_trust_remote_code=True)
    (path,) = resolver.resolve([trusted], {}).args
    assert Path(path, "told").read_text() == repr(
        (("set", None), {"split": None, "revision": "v1", "trust_remote_code": True})
    )
