"""The extractor against archives of every kind: generated, hostile, and damaged at random places."""

import io
import os
import stat
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from kinetic_runner.log import Log
from kinetic_runner.workspace import extract

LIMIT = {"KINETIC_MAX_CONTEXT_GB": "0.001"}
PARTS = st.sampled_from(
    ["a", "b", "pkg", "..", ".", "", "~", "C:", "é", "x" * 300, "a\\b", "..\\..", " ", "-rf", "CON"]
)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join) | st.text(max_size=12)
MODES = st.sampled_from([0, 0o644, 0o755, 0o000, 0o4755, 0o7777, stat.S_IFLNK | 0o777, stat.S_IFIFO | 0o644])
ENTRY = st.tuples(NAMES, st.binary(max_size=200), MODES, st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))


@contextmanager
def place(data: bytes) -> Iterator[tuple[Path, Path, Path]]:
    """Yield a folder with the archive in it, the archive, and where to extract it."""
    with tempfile.TemporaryDirectory(prefix="k-") as folder:
        outer = Path(folder)
        archive = outer / "context.zip"
        archive.write_bytes(data)
        yield outer, archive, outer / "workspace"


def packed(entries: list[tuple[str, bytes, int, int]]) -> bytes:
    """Write an archive as no careful program would."""
    stream = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(stream, "w") as archive:
        for name, content, mode, method in entries:
            info = zipfile.ZipInfo("placeholder")
            info.filename = name
            info.external_attr = mode << 16
            info.create_system = 3
            info.compress_type = method
            archive.writestr(info, content)
    return stream.getvalue()


def assert_contained(outer: Path, workspace: Path) -> dict[str, bytes]:
    """See that there are plain files and directories alone, and inside alone; return the files."""
    assert {path.name for path in outer.iterdir()} <= {"context.zip", "workspace"}
    found, waiting = {}, [workspace]
    while waiting:
        path = waiting.pop()
        mode = path.lstat().st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode)
        assert not mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX)
        path.chmod(0o700)
        if stat.S_ISDIR(mode):
            waiting += path.iterdir()
        else:
            found[path.relative_to(workspace).as_posix()] = path.read_bytes()
    return found


@given(st.lists(ENTRY, max_size=6))
@settings(max_examples=150)
def test_an_archive_of_any_names_is_extracted_whole_or_refused_before_anything_is_written(
    entries: list[tuple[str, bytes, int, int]],
) -> None:
    try:
        data = packed(entries)
    except (ValueError, UnicodeEncodeError):
        return  # not even `zipfile` writes it
    with place(data) as (outer, archive, workspace), io.StringIO() as log:
        try:
            count = extract(archive, workspace, environ=LIMIT, log=Log(log))
        except ValueError:
            assert not workspace.exists()
            return
        except OSError:
            assert any(len(part) > 255 for name, *_ in entries for part in os.fsencode(name).split(b"/"))
            assert_contained(outer, workspace)
            return
        found = assert_contained(outer, workspace)
        assert len(found) == count
        regular = [
            (name, content) for name, content, mode, _ in entries if stat.S_IFMT(mode) == 0 and not name.endswith("/")
        ]
        assert sorted(found.values()) == sorted(content for _, content in regular)
        assert log.getvalue().count("is a link or a device") == sum(stat.S_IFMT(mode) != 0 for _, _, mode, _ in entries)


SOUND = packed(
    [
        ("src/", b"", stat.S_IFDIR | 0o755, zipfile.ZIP_STORED),
        ("src/pkg/a.py", b"import os\n" * 50, stat.S_IFREG | 0o644, zipfile.ZIP_DEFLATED),
        ("data.bin", bytes(range(256)) * 3, stat.S_IFREG | 0o600, zipfile.ZIP_STORED),
        ("große.txt", "naïve 日本".encode(), stat.S_IFREG | 0o444, zipfile.ZIP_DEFLATED),
    ]
)
CHANGE = st.tuples(st.integers(0, len(SOUND)), st.integers(0, 3), st.binary(max_size=12))


@given(st.lists(CHANGE, min_size=1, max_size=5))
@settings(max_examples=300)
def test_a_damaged_archive_is_refused_or_gives_files_inside_the_workspace_alone(
    changes: list[tuple[int, int, bytes]],
) -> None:
    data = bytearray(SOUND)
    for at, cut, new in changes:
        data[at : at + (cut or len(new))] = new
    with place(bytes(data)) as (outer, archive, workspace), io.StringIO() as log:
        with suppress(ValueError, OSError):
            extract(archive, workspace, environ=LIMIT, log=Log(log))
        if workspace.exists():
            assert_contained(outer, workspace)


@given(st.binary(max_size=400), st.booleans())
@settings(max_examples=150)
def test_bytes_that_are_no_archive_are_refused(junk: bytes, ended: bool) -> None:
    data = junk + (SOUND[-22:] if ended else b"")
    with place(data) as (_, archive, workspace), io.StringIO() as log:
        try:
            count = extract(archive, workspace, environ=LIMIT, log=Log(log))
        except ValueError:
            count = 0
        assert count == 0
