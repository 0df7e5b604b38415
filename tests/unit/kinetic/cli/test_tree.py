"""The tree of an archive: sizes add up, and long lists are folded."""

from hypothesis import given
from hypothesis import strategies as st

from kinetic.cli.tree import SHOWN_LINES, SHOWN_PER_DIRECTORY, tree_lines
from kinetic_core.model.entry import ArchiveEntry


def entry(name: str, size_bytes: int = 0) -> ArchiveEntry:
    return ArchiveEntry(name=name, size_bytes=size_bytes, mode=0o644)


def test_directories_add_up_and_the_largest_comes_first() -> None:
    lines = tree_lines([entry("a.py", 10), entry("pkg/big.bin", 2048), entry("pkg/sub/x", 1024), entry("empty/")])

    assert lines == [
        "pkg/  3.0 KB, 2 files",
        "  big.bin  2.0 KB",
        "  sub/  1.0 KB, 1 file",
        "    x  1.0 KB",
        "a.py  10 B",
        "empty/  0 B, 0 files",
    ]


def test_members_beyond_the_largest_are_summed_up() -> None:
    lines = tree_lines([entry(f"f{index:02}", 100 + index) for index in range(SHOWN_PER_DIRECTORY + 2)])

    assert len(lines) == SHOWN_PER_DIRECTORY + 1
    assert lines[0] == "f09  109 B"
    assert lines[-1] == "… 2 more: 201 B, 2 files"


def test_only_the_largest_directories_are_opened() -> None:
    many = [entry(f"d{directory:02}/f{index}", directory) for directory in range(8) for index in range(8)]

    lines = tree_lines(many)

    assert len(lines) <= SHOWN_LINES
    assert "  f0  7 B" in lines
    assert "  f0  0 B" not in lines


def test_names_that_cannot_be_printed_are_escaped() -> None:
    assert tree_lines([entry("a\nb\udcff", 1)]) == ["a\\nb\\xff  1 B"]


_name = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda parts: "/".join(parts) + "/file")


@given(names=st.lists(_name, unique=True, min_size=1, max_size=30))
def test_unfolded_every_file_has_its_line(names: list[str]) -> None:
    lines = tree_lines([entry(name, 1) for name in names], fold=False)

    assert sum(line.endswith("file  1 B") for line in lines) == len(names)
