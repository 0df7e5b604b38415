"""Extraction: what arrives as it was, what is refused, and that nothing is written elsewhere."""

import io
import os
import stat
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.kinetic_runner.box import Box, entry, mode_of, replace_all


def test_files_arrive_with_their_bytes_in_their_directories(box: Box) -> None:
    workspace = box.zip(
        ("a.py", "A"), ("pkg/sub/b.py", "B" * 5_000), ("pkg/c.py", ""), ("naïve-日本.txt", "N")
    ).extract()
    assert workspace.joinpath("a.py").read_text() == "A"
    assert workspace.joinpath("pkg/sub/b.py").read_text() == "B" * 5_000
    assert workspace.joinpath("pkg/c.py").read_bytes() == b""
    assert workspace.joinpath("naïve-日本.txt").read_text() == "N"


def test_empty_directories_arrive(box: Box) -> None:
    workspace = box.zip((entry("empty/er/", 0o40755), "")).extract()
    assert workspace.joinpath("empty/er").is_dir()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("size", [0, 1, 70_000, (1 << 20) + 7, 3 << 20])
def test_files_of_every_size_arrive_whole_stored_or_packed(box: Box, method: int, size: int) -> None:
    content = os.urandom(size // 2) + b"x" * (size - size // 2)
    workspace = box.zip((entry("data.bin", compress_type=method), content)).extract()
    assert workspace.joinpath("data.bin").read_bytes() == content


def test_output_that_comes_after_the_last_input_arrives(box: Box) -> None:
    content = bytes(range(256)) * 300 + os.urandom(70_000) + b"x" * (4 << 20)
    assert box.zip((entry("data.bin"), content)).extract().joinpath("data.bin").read_bytes() == content


def test_permission_bits_arrive_and_special_bits_never(box: Box) -> None:
    workspace = box.zip(
        (entry("run.sh", 0o100755), ""),
        (entry("suid", 0o107755), ""),
        (entry("private", 0o600), ""),
        (entry("ro", 0o444), ""),
    ).extract()
    assert [mode_of(workspace / name) for name in ("run.sh", "suid", "private", "ro")] == [0o755, 0o755, 0o600, 0o444]


def test_modes_of_a_directory_arrive_after_what_lies_in_it(box: Box) -> None:
    workspace = box.zip((entry("locked/", 0o40555), ""), (entry("locked/file"), "inside")).extract()
    assert workspace.joinpath("locked/file").read_text() == "inside"
    assert mode_of(workspace / "locked") == 0o555


@pytest.mark.parametrize("kinds", [(None, None), (stat.S_IFREG, stat.S_IFDIR)])
def test_without_permission_bits_of_a_unix_creator_the_process_decides(
    box: Box, kinds: tuple[int | None, int | None]
) -> None:
    box.zip((entry("file", kinds[0]), ""), (entry("folder/", kinds[1]), ""))
    umask = os.umask(0o027)
    try:
        workspace = box.extract()
    finally:
        assert os.umask(umask) == 0o027
    assert mode_of(workspace / "file") == 0o640
    assert mode_of(workspace / "folder") == 0o750


def test_modes_of_an_archive_made_elsewhere_do_not_count(box: Box) -> None:
    info = entry("file", None)
    info.external_attr = 0o777 << 16
    assert mode_of(box.zip((info, "")).extract() / "file") & 0o111 == 0


def test_times_of_files_and_directories_are_restored(box: Box) -> None:
    workspace = box.zip((entry("d/", 0o40755), ""), (entry("d/f"), "x")).extract()
    expected = time.mktime((2021, 5, 6, 7, 8, 10, 0, 0, -1))
    assert workspace.joinpath("d/f").stat().st_mtime == expected
    assert workspace.joinpath("d").stat().st_mtime == expected


def test_a_time_in_utc_wins_over_the_local_one(box: Box) -> None:
    info = entry("f", extra=struct.pack("<HHBl", 0x5455, 5, 1, 1_600_000_001) + b"\xfe\xca\0\0")
    assert box.zip((info, "x")).extract().joinpath("f").stat().st_mtime == 1_600_000_001


def test_a_time_that_is_nonsense_is_ignored(box: Box) -> None:
    box.zip((entry("f"), "x"), (entry("g"), "y"), (entry("d/", 0o40755), ""))

    def change(data: bytearray) -> None:
        for at in (data.index(b"PK\1\2"), data.rindex(b"PK\1\2")):
            data[at + 14 : at + 16] = b"\0\0"

    before = time.time()
    workspace = box.patch(change).extract()
    assert workspace.joinpath("f").stat().st_mtime >= before - 5
    assert workspace.joinpath("d").stat().st_mtime >= before - 5
    assert workspace.joinpath("g").stat().st_mtime < before - 1_000_000


def test_a_write_that_takes_a_part_is_continued(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data)[:7]))
    assert box.zip((entry("f"), b"x" * 50)).extract().joinpath("f").read_bytes() == b"x" * 50


@pytest.mark.parametrize(
    "name",
    [
        "../../evil",
        "a/../../evil",
        "/abs",
        "\\abs",
        "..\\evil",
        "a\\..\\..\\evil",
        "C:/evil",
        "c:evil",
        "//host/x",
        "a/..",
        "..",
    ],
)
def test_a_name_that_leads_out_is_refused_before_anything_is_written(box: Box, name: str) -> None:
    box.zip((entry("good.txt"), "x"), (entry(name), "evil"))
    box.refuse("leads out of the workspace")
    assert [path.name for path in box.archive.parent.rglob("*")] == ["context.zip"]


def test_a_name_with_a_nul_is_refused(box: Box) -> None:
    box.zip((entry("aXb"), "x")).patch(lambda data: replace_all(data, b"aXb", b"a\0b"))
    box.refuse("leads out of the workspace")


def test_an_entry_without_a_name_is_refused(box: Box) -> None:
    box.zip((entry("."), "x"))
    box.refuse("has no name")


@pytest.mark.parametrize("name", ["a\\b.txt", "new\nline", "-rf", "...", "a/.hidden", "a:b"[1:]])
def test_odd_names_that_stay_inside_arrive_as_they_are(box: Box, name: str) -> None:
    workspace = box.zip((entry(name), "x")).extract()
    assert workspace.joinpath(name).read_text() == "x"


def test_redundant_parts_of_a_name_are_dropped(box: Box) -> None:
    workspace = box.zip((entry("./a//b/./c.txt"), "x"), (entry("./"), "")).extract()
    assert workspace.joinpath("a/b/c.txt").read_text() == "x"


@pytest.mark.parametrize("names", [("a", "a"), ("a/b", "a//b"), ("d/", "./d/")])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_comes_twice_is_refused(box: Box, names: tuple[str, str]) -> None:
    box.zip(*((entry(name), "") for name in names))
    box.refuse("twice")


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("x/y/z", "x/y")])
def test_a_file_where_a_directory_belongs_is_refused(box: Box, names: tuple[str, str]) -> None:
    box.zip(*((entry(name), "") for name in names))
    box.refuse("both as a file and as a directory")


def test_links_are_never_made_and_what_lies_behind_one_stays_inside(box: Box, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = box.zip(
        (entry("lnk", stat.S_IFLNK | 0o777), str(outside)),
        (entry("lnk/x"), "inside"),
        (entry("pipe", stat.S_IFIFO | 0o644), ""),
    ).extract()
    assert not workspace.joinpath("lnk").is_symlink()
    assert workspace.joinpath("lnk/x").read_text() == "inside"
    assert list(outside.iterdir()) == []
    assert not workspace.joinpath("pipe").exists()
    assert len(box.journal.warnings) == 2
    assert "'lnk'" in box.journal.warnings[0]


def test_what_lies_in_the_workspace_already_is_never_replaced(box: Box) -> None:
    box.workspace.mkdir(parents=True)
    box.workspace.joinpath("a.txt").write_text("mine")
    with pytest.raises(FileExistsError):
        box.zip((entry("a.txt"), "theirs")).extract()
    assert box.workspace.joinpath("a.txt").read_text() == "mine"


def test_a_link_in_the_workspace_is_not_followed(box: Box, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    box.workspace.mkdir(parents=True)
    box.workspace.joinpath("d").symlink_to(outside)
    with pytest.raises(FileExistsError):
        box.zip((entry("d/a.txt"), "x")).extract()
    assert list(outside.iterdir()) == []


def test_a_directory_in_the_workspace_is_filled(box: Box) -> None:
    box.workspace.joinpath("d").mkdir(parents=True)
    assert box.zip((entry("d/a.txt"), "x")).extract().joinpath("d/a.txt").read_text() == "x"


def test_a_file_where_the_workspace_belongs_is_an_os_error(box: Box) -> None:
    box.zip((entry("f"), b"x" * 10))
    box.workspace.parent.mkdir()
    box.workspace.parent.joinpath("workspace").write_text("in the way")
    with pytest.raises(FileExistsError):
        box.extract()


def test_each_directory_is_made_once(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.zip(*((entry(f"a/b/f{number}"), "") for number in range(20)))
    made: list[str] = []
    make = Path.mkdir

    def counting(self: Path, *args: Any, **kwargs: Any) -> None:
        made.append(self.name)
        make(self, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", counting)
    box.extract()
    assert made.count("b") == made.count("a") == 1


NAMES = st.lists(
    st.text(st.characters(exclude_characters="/\0\\:", exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
        lambda part: part not in {".", ".."}
    ),
    min_size=1,
    max_size=3,
).map("/".join)


@given(st.dictionaries(NAMES, st.binary(max_size=200), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_whatever_zipfile_writes_arrives_as_zipfile_reads_it(tmp_path: Path, files: dict[str, bytes]) -> None:
    folders = {"/".join(name.split("/")[:end]) for name in files for end in range(1, name.count("/") + 1)}
    kept = {name: content for name, content in files.items() if name not in folders}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in kept.items():
            archive.writestr(name, content)
    box = Box(tmp_path)
    box.archive.write_bytes(stream.getvalue())
    box.workspace = tmp_path / os.urandom(6).hex()
    workspace = box.extract()
    arrived = {str(path.relative_to(workspace)): path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    assert arrived == kept
