"""Extraction: what arrives as it was, what is refused, and that nothing is written elsewhere."""

import io
import os
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinetic_runner.workspace import extract
from tests.unit.kinetic_runner.conftest import Journal


def entry(name: str, mode: int | None = 0o644, when: tuple[int, ...] = (2021, 5, 6, 7, 8, 10), **more: Any) -> Any:
    """Return the description of an entry; `mode` is that of a Unix creator."""
    info = zipfile.ZipInfo(name, when)  # type: ignore[arg-type]
    info.create_system = 3 if mode is not None else 0
    info.external_attr = (mode or 0) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    for key, value in more.items():
        setattr(info, key, value)
    return info


class Box:
    """A folder with an archive in it, and a workspace beside it."""

    def __init__(self, folder: Path) -> None:
        self.archive = folder / "context.zip"
        self.workspace = folder / "around" / "workspace"
        self.journal = Journal()

    def zip(self, *entries: tuple[Any, bytes | str]) -> "Box":
        """Write the archive."""
        with zipfile.ZipFile(self.archive, "w", zipfile.ZIP_DEFLATED) as archive:
            for info, content in entries:
                archive.writestr(info, content)
        return self

    def patch(self, change: Callable[[bytearray], None]) -> "Box":
        """Change the archive's bytes."""
        data = bytearray(self.archive.read_bytes())
        change(data)
        self.archive.write_bytes(bytes(data))
        return self

    def extract(self, **environ: str) -> Path:
        """Extract, and return the workspace."""
        extract(self.archive, self.workspace, environ=environ, log=self.journal)
        return self.workspace

    def refuse(self, words: str, **environ: str) -> None:
        """Extract, and see it refused without a trace."""
        with pytest.raises(ValueError, match=words):
            self.extract(**environ)
        assert not self.workspace.exists() or not list(self.workspace.rglob("*"))


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """Return an empty box."""
    return Box(tmp_path)


def mode_of(path: Path) -> int:
    """Return all twelve permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


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


def replace_all(data: bytearray, old: bytes, new: bytes) -> None:
    """Replace bytes in place, same length."""
    assert len(old) == len(new)
    data[:] = data.replace(old, new)


def set_size(data: bytearray, size: int) -> None:
    """Let the directory's first entry declare another size."""
    at = data.index(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<L", size)


@pytest.mark.parametrize("declared", [3, 4_999, 5_001, 1 << 30])
@pytest.mark.parametrize("content", [b"x" * 5_000, os.urandom(80_000) + b"x" * 5_000])
def test_a_size_that_is_not_the_declared_one_stops_the_job(box: Box, declared: int, content: bytes) -> None:
    box.zip((entry("f"), content)).patch(lambda data: set_size(data, declared))
    with pytest.raises(ValueError, match="does not have the"):
        box.extract()


def test_a_stored_entry_with_two_sizes_is_refused(box: Box) -> None:
    box.zip((entry("f", compress_type=zipfile.ZIP_STORED), b"xxxx")).patch(lambda data: set_size(data, 5))
    box.refuse("does not have the size that it declares")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("content", [b"short" * 10, os.urandom(90_000)])
def test_damaged_bytes_stop_the_job(box: Box, method: int, content: bytes) -> None:
    box.zip((entry("f", compress_type=method), content))

    def change(data: bytearray) -> None:
        at = data.index(b"PK\1\2")
        data[at + 16 : at + 20] = b"\0\0\0\1"

    with pytest.raises(ValueError, match="is damaged"):
        box.patch(change).extract()


@pytest.mark.parametrize("content", [b"short" * 10, os.urandom(90_000)])
def test_bytes_that_are_not_packed_stop_the_job(box: Box, content: bytes) -> None:
    def change(data: bytearray) -> None:
        data[31 : 31 + 8] = b"\xff" * 8

    with pytest.raises(ValueError, match="is damaged"):
        box.zip((entry("f"), content)).patch(change).extract()


def test_a_packed_stream_that_ends_early_stops_the_job(box: Box) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = os.urandom(100_000)
    body = packer.compress(content) + packer.flush(zlib.Z_SYNC_FLUSH)
    box.zip((entry("f", compress_type=zipfile.ZIP_STORED), body))

    def change(data: bytearray) -> None:
        at = data.index(b"PK\1\2")
        data[at + 10 : at + 12] = struct.pack("<H", 8)
        data[at + 16 : at + 20] = struct.pack("<L", zlib.crc32(content))
        set_size(data, len(content))

    with pytest.raises(ValueError, match="does not have the"):
        box.patch(change).extract()


def test_a_bomb_is_refused_before_anything_is_written(box: Box) -> None:
    box.zip((entry("f"), b"x")).patch(lambda data: set_size(data, 0xFFFFFFF0))
    box.refuse("more than the limit", KINETIC_MAX_CONTEXT_GB="1")


def test_ten_gib_and_two_hundred_times_are_the_limit_by_default(box: Box) -> None:
    entries = [(entry(f"f{number}"), b"x") for number in range(4)]

    def change(data: bytearray) -> None:
        at = 0
        for _ in entries:
            at = data.index(b"PK\1\2", at)
            data[at + 24 : at + 28] = struct.pack("<L", 0xFFFFFFF0)
            at += 4

    box.zip(*entries).patch(change)
    box.refuse("more than the limit of 10737418240")


@pytest.mark.parametrize("value", ["much", "-1", "0", "nan", "inf"])
def test_a_limit_that_cannot_be_used_is_ignored_with_a_warning(box: Box, value: str) -> None:
    box.zip((entry("f"), b"x")).extract(KINETIC_MAX_CONTEXT_GB=value)
    (warning,) = box.journal.warnings
    assert f"KINETIC_MAX_CONTEXT_GB={value!r}" in warning


def test_a_fraction_of_a_gib_is_a_limit(box: Box) -> None:
    box.zip((entry("f"), b"x" * 10_000))
    box.refuse("more than the limit", KINETIC_MAX_CONTEXT_GB="0.000001")


def test_methods_that_no_context_uses_are_refused(box: Box) -> None:
    box.zip((entry("f", compress_type=zipfile.ZIP_BZIP2), b"x" * 100))
    box.refuse("packed by method 12")


def test_encrypted_entries_are_refused(box: Box) -> None:
    def change(data: bytearray) -> None:
        data[data.index(b"PK\1\2") + 8] |= 1

    box.zip((entry("f"), b"x")).patch(change)
    box.refuse("encrypted")


def test_a_header_that_names_another_file_is_refused(box: Box) -> None:
    with pytest.raises(ValueError, match="damaged or names something else"):
        box.zip((entry("f"), b"x")).patch(lambda data: data.__setitem__(30, ord("g"))).extract()


def test_names_that_are_not_utf8_are_refused_where_the_archive_says_that_they_are(box: Box) -> None:
    box.zip((entry("naïve"), b"x")).patch(lambda data: replace_all(data, "ï".encode(), b"\xff\xff"))
    box.refuse("is not UTF-8")


def test_names_of_old_archives_are_cp437(box: Box) -> None:
    def change(data: bytearray) -> None:
        replace_all(data, b"aXb", b"a\x81b")

    assert box.zip((entry("aXb"), b"x")).patch(change).extract().joinpath("aüb").exists()


def cut_comment(data: bytearray) -> None:
    """Say that the directory lies elsewhere."""
    at = data.index(b"PK\5\6")
    data[at + 16 : at + 20] = struct.pack("<L", 1)


def miscount(data: bytearray) -> None:
    """Say that there are more entries."""
    at = data.index(b"PK\5\6")
    data[at + 8 : at + 12] = struct.pack("<HH", 2, 2)


def split(data: bytearray) -> None:
    """Say that there are more disks."""
    data[data.index(b"PK\5\6") + 4] = 1


def bad_magic(data: bytearray) -> None:
    """Damage the directory's first entry."""
    data[data.index(b"PK\1\2") + 2] = 9


def endless_name(data: bytearray) -> None:
    """Let the directory's first name go on beyond its end."""
    at = data.index(b"PK\1\2")
    data[at + 28 : at + 30] = b"\xff\xff"


def far_offset(data: bytearray) -> None:
    """Let the first entry lie beyond the end."""
    at = data.index(b"PK\1\2")
    data[at + 42 : at + 46] = struct.pack("<L", 0xFFFF)


def long_body(data: bytearray) -> None:
    """Let the first entry's bytes go on beyond the end."""
    at = data.index(b"PK\1\2")
    data[at + 20 : at + 24] = struct.pack("<L", 0xFFFFFF)


def short_directory(data: bytearray) -> None:
    """Cut the directory's last entry short."""
    at, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    del data[at + 20 : end]
    data[-22 + 12 : -22 + 16] = struct.pack("<L", 20)


def no_wide_sizes(data: bytearray) -> None:
    """Announce 64-bit sizes that are not there."""
    at = data.index(b"PK\1\2")
    data[at + 24 : at + 28] = b"\xff" * 4
    replace_all(data, b"\xfe\xca\x04\x00", b"\x01\x00\x04\x00")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cut_comment, "not where its end says"),
        (miscount, "lists 1 entries"),
        (split, "split"),
        (bad_magic, "directory is damaged"),
        (endless_name, "directory is damaged"),
        (far_offset, "is missing"),
        (long_body, "cut off"),
        (short_directory, "directory is cut off"),
        (no_wide_sizes, "sizes of 'f' are damaged"),
    ],
)
def test_a_damaged_archive_is_told_as_such(box: Box, change: Callable[[bytearray], None], words: str) -> None:
    box.zip((entry("f", extra=b"\xfe\xca\x04\x00abcd"), b"x")).patch(change)
    with pytest.raises(ValueError, match=words):
        box.extract()


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\5\6"])
def test_what_is_no_archive_is_told_as_such(box: Box, content: bytes) -> None:
    box.archive.write_bytes(content)
    box.refuse("not a ZIP archive")


def test_an_archive_without_entries_makes_an_empty_workspace(box: Box) -> None:
    assert list(box.zip().extract().iterdir()) == []


@pytest.mark.parametrize("all_wide", [True, False])
def test_archives_with_64_bit_records_are_read(box: Box, all_wide: bool) -> None:
    with zipfile.ZipFile(box.archive, "w") as archive, archive.open("f", "w", force_zip64=True) as stream:
        stream.write(b"wide")

    def change(data: bytearray) -> None:
        # Widen the directory by hand: the standard library writes wide fields only where it must.
        at, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
        header, name = data[at : at + 46], data[at + 46 : end]
        size, packed, offset = struct.unpack("<L", header[24:28])[0], struct.unpack("<L", header[20:24])[0], 0
        if all_wide:
            extra = struct.pack("<HHQQQ", 1, 24, size, packed, offset)
            header[20:28], header[42:46] = b"\xff" * 8, b"\xff" * 4
        else:
            extra = struct.pack("<HHQ", 1, 8, packed)
            header[20:24] = b"\xff" * 4
        header[30:32] = struct.pack("<H", len(extra))
        directory = bytes(header) + bytes(name) + extra
        end64 = struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(directory), at)
        locator = struct.pack("<4sLQL", b"PK\6\7", 0, at + len(directory), 1)
        tail = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        data[at:] = directory + end64 + locator + tail

    assert box.patch(change).extract().joinpath("f").read_bytes() == b"wide"


def test_a_damaged_64_bit_end_is_told_as_such(box: Box) -> None:
    tail = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0, 0, 0)
    box.archive.write_bytes(struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1) + tail)
    box.refuse("end of the archive is damaged")


def test_65535_entries_are_no_64_bit_archive_by_themselves(box: Box) -> None:
    box.archive.write_bytes(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0, 0, 0))
    box.refuse("lists 0 entries, but its end says 65535")


def test_a_full_disk_is_an_os_error(box: Box) -> None:
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
