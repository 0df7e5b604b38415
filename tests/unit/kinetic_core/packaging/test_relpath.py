import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from kinetic_core.packaging.relpath import Links, absolute, real, relative, same_directory, spellings


def test_a_relative_path_counts_from_the_working_directory() -> None:
    assert absolute("", Path("/w")) == Path("/w")
    assert absolute("a", Path("/w")) == Path("/w/a")
    assert absolute("/b", Path("/w")) == Path("/b")


def test_dots_are_taken_out_where_no_link_stands_in_the_way(tmp_path: Path) -> None:
    assert absolute("a/../b", tmp_path) == tmp_path / "b"


def test_dots_behind_a_link_lead_where_the_system_leads(tmp_path: Path) -> None:
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "deep")
    assert absolute("link/../x", tmp_path) == tmp_path.resolve() / "far" / "x"


def test_a_directory_is_the_same_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    assert same_directory(tmp_path / "alias", tmp_path / "real")
    assert not same_directory(tmp_path, tmp_path / "real")


@pytest.mark.parametrize(("path", "expected"), [("root/a/b", "a/b"), ("root", ""), ("rootless", None), ("", None)])
def test_a_path_lies_under_the_root_or_outside(tmp_path: Path, path: str, expected: str | None) -> None:
    assert relative(tmp_path / path, tmp_path / "root") == expected


def test_a_root_through_a_link_holds_what_is_spelled_without_it_and_the_reverse(tmp_path: Path) -> None:
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "alias").symlink_to("real")
    assert relative(tmp_path / "real" / "src", tmp_path / "alias") == "src"
    assert relative(tmp_path / "alias" / "src", tmp_path / "real") == "src"


def test_the_target_of_an_inner_link_comes_before_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert spellings(tmp_path / "link" / "x", tmp_path) == ("real/x", "link/x")


def test_an_inner_link_that_leads_out_is_found_through_an_alias_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "alias").symlink_to("root")
    assert spellings(tmp_path / "alias" / "link" / "x", tmp_path / "root") == ("link/x",)


def test_a_path_through_a_link_far_from_the_root_lies_outside(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far")
    assert spellings(tmp_path / "link" / "x", tmp_path / "root") == ()


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "//",
        "//net/x",
        "real/a/b",
        "alias/a",
        "alias/../a",
        "in/alias/a",
        "loop/a",
        "gone/a",
        "broken/a",
        "file/a",
    ],
)
def test_links_are_resolved_as_the_system_does(tmp_path: Path, path: str) -> None:
    (tmp_path / "real" / "a").mkdir(parents=True)
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "in").symlink_to(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "broken").symlink_to("nowhere/at/all")
    (tmp_path / "file").touch()
    links, asked = Links(), path if path.startswith("/") else os.path.join(tmp_path, path)  # noqa: PTH118 - as asked
    assert [links.real(asked), links.real(asked)] == [os.path.realpath(asked)] * 2
    assert links.real(f"{asked}/b") == os.path.realpath(f"{asked}/b")


def test_each_directory_is_looked_at_once(tmp_path: Path) -> None:
    looks = []

    def watch(_: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ in {"lstat", "stat", "readlink"}:
            looks.append(function.__name__)

    links, before = Links(), sys.getprofile()
    links.real(str(tmp_path))
    sys.setprofile(watch)
    try:
        for number in range(100):
            links.real(f"{tmp_path}/shared/{number % 10}")
    finally:
        sys.setprofile(before)
    assert looks == ["lstat"] * 11


AFTER_TWO = "target" if sys.version_info < (3, 13) else "link"
"""Since Python 3.13 `realpath` takes a link that it cannot read for none."""


@pytest.mark.parametrize(("failures", "told"), [(0, "target"), (2, AFTER_TWO), (9, "link")])
def test_a_link_that_goes_while_it_is_followed_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, told: str
) -> None:
    (tmp_path / "link").symlink_to("target")
    read, left = os.readlink, [failures]

    def readlink(path: str) -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise FileNotFoundError(2, "No such file or directory", path)
        return read(path)

    monkeypatch.setattr(os, "readlink", readlink)
    assert real(tmp_path / "link") == str(tmp_path / told)
