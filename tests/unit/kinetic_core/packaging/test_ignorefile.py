import fnmatch
import os
from pathlib import Path

import pytest

from kinetic_core.packaging.ignorefile import parse_ignore_file, read_ignore_file
from tests.unit.kinetic_core.packaging.trees import grow, unprivileged_folder


def patterns(content: bytes) -> list[str]:
    return [rule.pattern for rule in parse_ignore_file(content)[0]]


def test_each_line_is_a_pattern_with_its_source_and_place() -> None:
    rules, findings = parse_ignore_file(b"*.ckpt\n\nruns\n")
    assert [(rule.pattern, rule.kind, rule.source, rule.origin) for rule in rules] == [
        ("*.ckpt", "glob", "ignore-file", ".kineticignore:1"),
        ("runs", "glob", "ignore-file", ".kineticignore:3"),
    ]
    assert findings == ()


@pytest.mark.parametrize(
    "content",
    [b"a\nb", b"a\nb\n", b"a\r\nb\r\n", b"a\rb", b"\xef\xbb\xbfa\r\nb", b"  a\t\n\t b  \n", b"\n \n\t\na\n\nb"],
)
def test_a_byte_order_mark_any_line_ends_and_blanks_are_accepted(content: bytes) -> None:
    assert patterns(content) == ["a", "b"]


def test_a_hash_is_a_comment_only_as_the_first_character_of_what_is_left() -> None:
    assert patterns(b"# one\n   # two\nx # y\na#b\n") == ["x # y", "a#b"]


def test_a_trailing_slash_restricts_to_directories_and_a_leading_one_is_dropped() -> None:
    rules, _ = parse_ignore_file(b"runs/\n/top\n/both/\na/b\n")
    assert [(rule.pattern, rule.directories_only) for rule in rules] == [
        ("runs", True),
        ("top", False),
        ("both", True),
        ("a/b", False),
    ]


def test_slashes_alone_are_no_pattern() -> None:
    assert patterns(b"/\n//\n") == []


def test_an_exclamation_mark_has_no_meaning() -> None:
    assert patterns(b"*.bin\n!weights.bin\n") == ["*.bin", "!weights.bin"]


def test_undecodable_bytes_are_replaced() -> None:
    assert patterns(b"caf\xe9*\nok\n") == ["caf\ufffd*", "ok"]


def test_a_form_feed_or_a_line_separator_ends_no_line() -> None:
    assert patterns("a\x0cb\nc\u2028d".encode()) == ["a\x0cb", "c\u2028d"]


def test_a_pattern_that_cannot_be_compiled_is_skipped_naming_file_and_line(monkeypatch: pytest.MonkeyPatch) -> None:
    translate = fnmatch.translate
    monkeypatch.setattr(fnmatch, "translate", lambda pattern: "(" if pattern == "bad" else translate(pattern))
    rules, (finding,) = parse_ignore_file(b"good\nbad\n")
    assert [rule.pattern for rule in rules] == ["good"]
    assert finding.code == "rule_uncompilable"
    assert finding.message.startswith(".kineticignore:2: ")


def test_only_the_file_at_the_root_is_read(tmp_path: Path) -> None:
    grow(tmp_path, {".kineticignore": "a", "sub/.kineticignore": "b"})
    rules, findings = read_ignore_file(tmp_path)
    assert [rule.pattern for rule in rules] == ["a"]
    assert findings == ()


def test_no_file_is_no_rules(tmp_path: Path) -> None:
    assert read_ignore_file(tmp_path) == ((), ())


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_what_is_no_regular_file_is_told_and_never_opened(tmp_path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(tmp_path / ".kineticignore")
    else:
        (tmp_path / ".kineticignore").mkdir()
    rules, (finding,) = read_ignore_file(tmp_path)
    assert rules == ()
    assert finding.code == "ignore_file_unusable"


def test_an_unreadable_file_is_told() -> None:
    with unprivileged_folder() as folder:
        grow(folder, {".kineticignore": "a"})
        (folder / ".kineticignore").chmod(0)
        rules, (finding,) = read_ignore_file(folder)
        assert rules == ()
        assert finding.code == "ignore_file_unusable"
        assert "Permission denied" in finding.message
