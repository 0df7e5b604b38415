"""What a type of reference promises, asked of `Data`."""

from pathlib import Path

import pytest

from kinetic.defaults import kinetic_reference_types
from kinetic.testing import ReferenceContract
from kinetic_core.plugin import ReferenceType
from kinetic_core.references.data import Data


class OfData(ReferenceContract):
    @pytest.fixture
    def reference_type(self) -> ReferenceType:
        (found,) = kinetic_reference_types()
        return found


class TestFile(OfData):
    @pytest.fixture
    def value(self, tmp_path: Path) -> Data:
        return file(tmp_path / "one", "content")

    @pytest.fixture
    def same(self, tmp_path: Path) -> Data:
        return file(tmp_path / "two", "content")

    @pytest.fixture
    def other(self, tmp_path: Path) -> Data:
        return file(tmp_path / "three", "other content")


class TestDirectory(OfData):
    @pytest.fixture
    def value(self, tmp_path: Path) -> Data:
        return Data(Path(file(tmp_path / "one" / "sub", "content").path).parents[1])

    @pytest.fixture
    def same(self, tmp_path: Path) -> Data:
        return Data(Path(file(tmp_path / "two" / "sub", "content").path).parents[1])

    @pytest.fixture
    def other(self, tmp_path: Path) -> Data:
        return Data(Path(file(tmp_path / "three" / "sub", "other content").path).parents[1])


def file(folder: Path, text: str) -> Data:
    folder.mkdir(parents=True)
    (folder / "numbers").write_text(text)
    return Data(folder / "numbers")
