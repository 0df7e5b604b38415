import copy
import pickle
import re
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.errors import ConfigError, DataNotFoundError, PackagingError, UsageError
from kinetic_core.references import data as data_module
from kinetic_core.references.data import Data, HuggingFaceDataset, size_findings
from kinetic_core.references.hashing import Hashed, hash_path


def test_a_local_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f.txt").write_text("x")
    monkeypatch.chdir(tmp_path)
    for path in ("d", "./d", "d/", Path("d"), tmp_path / "d", "d/../d"):
        data = Data(path)
        assert (data.path, data.is_dir, data.is_remote) == (str(tmp_path / "d"), True, False)
    assert (Data("d/f.txt").path, Data("d/f.txt").is_dir) == (str(tmp_path / "d/f.txt"), False)


def test_the_home_is_expanded(isolated_home: Path) -> None:
    (isolated_home / "sets").mkdir()
    assert Data("~/sets").path == str(isolated_home / "sets")


def test_links_stay_as_they_are_but_where_a_parent_behind_one_leads_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "real/inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real/inner")
    assert Data(tmp_path / "link").path == str(tmp_path / "link")
    assert Data(f"{tmp_path}/link/../inner").path == str(tmp_path / "real/inner")


def test_what_does_not_exist_is_named_as_given_and_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=re.escape(f"Data('gone/x'): no such file or directory: {tmp_path}/gone/x")
    ):
        Data("gone/x")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(DataNotFoundError, match="a link to nothing"):
        Data("dangling")
    with pytest.raises(DataNotFoundError):
        Data("~nobody-of-that-name/x")


@pytest.mark.parametrize("path", ["", "  "])
def test_an_empty_path_is_a_value_error(path: str) -> None:
    with pytest.raises(ValueError, match="needs a path"):
        Data(path)


@pytest.mark.parametrize("path", [3, None, b"x", ["x"]])
def test_what_is_no_path_is_a_type_error(path: Any) -> None:
    with pytest.raises(UsageError, match="takes a path or a URL"):
        Data(path)


def test_a_socket_is_neither_file_nor_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(ConfigError, match="neither a file nor a directory"):
            Data("s")


@pytest.mark.parametrize(
    ("url", "is_dir"),
    [
        ("gs://bucket/data/", True),
        ("gs://bucket/data", False),
        ("s3://bucket/model.bin", False),
        ("abfs://c@a.dfs.core.windows.net/x/", True),
        ("file:///data/x", False),
        ("memory://x/", True),
        ("simplecache::gs://bucket/x", False),
    ],
)
def test_a_url_passes_as_it_is_and_its_slash_tells_a_directory(url: str, *, is_dir: bool) -> None:
    data = Data(url)
    assert (data.path, data.is_remote, data.is_dir, data.hugging_face) == (url, True, is_dir, None)


def test_a_data_set_is_taken_apart() -> None:
    data = Data("hf://org/name?split=train%5B%3A10%5D&config_name=en&revision=", hf_trust_remote_code=True)
    assert data.hugging_face == HuggingFaceDataset(name="org/name", split="train[:10]", config_name="en", revision=None)
    assert (data.is_dir, data.is_remote, data.hf_trust_remote_code) == (True, True, True)
    assert Data("hf://name").hugging_face == HuggingFaceDataset(name="name")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("hf://", "names no data set"),
        ("hf://?split=x", "names no data set"),
        ("hf://n?spilt=x", "did you mean 'split'?"),
        ("hf://n?q=x", "known are split, config_name, revision"),
    ],
)
def test_a_data_set_that_cannot_be_understood_is_a_value_error(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        Data(url)


def test_a_data_set_cannot_be_mounted() -> None:
    with pytest.raises(ValueError, match="cannot be mounted; drop fuse"):
        Data("hf://name", fuse=True)
    assert Data("gs://bucket/x/", fuse=True).fuse is True


def test_remote_data_has_no_content_hash() -> None:
    with pytest.raises(ConfigError, match=re.escape("Data('gs://b/x') is remote")):
        Data("gs://b/x").content_hash()


def test_the_hash_is_taken_once_for_each_instance(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("one")
    data = Data(file)
    taken = data.content_hash()
    file.write_text("another")
    assert data.content_hash() == taken
    assert data.size_bytes == 3
    assert Data(file).content_hash() != taken


def test_threads_that_ask_at_once_have_it_taken_once(tmp_path: Path) -> None:
    counted: list[Path] = []
    start = threading.Barrier(8)

    def counting(path: Path) -> Hashed:
        counted.append(path)
        return hash_path(path)

    data = Data(tmp_path)
    hashes: list[str] = []

    def ask() -> None:
        start.wait()
        hashes.append(data.hashed(counting).digest.sha256)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(hashes)) == 1
    assert counted == [tmp_path]


def test_data_that_is_gone_is_told_as_that_and_asked_again(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    data = Data(folder)
    folder.rmdir()
    with pytest.raises(DataNotFoundError, match="no such file or directory"):
        data.content_hash()
    folder.mkdir()
    assert len(data.content_hash()) == 64


def test_a_data_can_be_pickled_and_copied_with_its_snapshot(tmp_path: Path) -> None:
    data = Data(tmp_path, fuse=True)
    taken = data.content_hash()
    (tmp_path / "new").write_text("x")
    for again in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert (again.path, again.fuse, again.content_hash()) == (data.path, True, taken)
        with pytest.raises(PackagingError, match="changed after its content was hashed"):
            again.hashed()
        (tmp_path / "new").unlink()
        assert again.hashed() == data.hashed()
        (tmp_path / "new").write_text("x")


def test_rows_of_a_tree_do_not_travel(tmp_path: Path) -> None:
    (tmp_path / "a-name-in-it").touch()
    data = Data(tmp_path)
    data.content_hash()
    assert b"a-name-in-it" not in pickle.dumps(data)


def test_remote_data_has_no_hash() -> None:
    with pytest.raises(ConfigError, match="only local data has a content hash"):
        Data("gs://bucket/x").hashed()


def test_the_repr_says_what_to_write(tmp_path: Path) -> None:
    assert repr(Data(tmp_path)) == f"Data({str(tmp_path)!r})"
    assert repr(Data("gs://b/x", fuse=True)) == "Data('gs://b/x', fuse=True)"
    assert repr(Data("hf://n", hf_trust_remote_code=True)) == "Data('hf://n', hf_trust_remote_code=True)"


def test_more_than_ten_gigabytes_are_warned_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert size_findings(Data("gs://b/x")) == ()
    assert size_findings(Data(tmp_path)) == ()
    monkeypatch.setattr(data_module, "LARGE_BYTES", 4)
    (warning,) = size_findings(Data(tmp_path))
    assert (warning.code, warning.severity) == ("data_large", "warning")
    assert str(tmp_path) in warning.message


def test_making_a_data_reads_nothing_of_it(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("x")
    before = file.stat().st_atime_ns
    assert Data(file).is_dir is False
    assert file.stat().st_atime_ns == before


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "s3://bucket/a\0b"])
def test_what_no_file_can_be_called_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="nothing can be called so"):
        Data(path)


@pytest.mark.parametrize("url", ["s3://", "gs://", "file://"])
def test_a_url_that_is_only_a_scheme_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="names nothing"):
        Data(url)
