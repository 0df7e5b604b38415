"""The ignore file against the plainest reading of the contract: a loop over `fnmatch`."""

import fnmatch

from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.packaging.ignorefile import parse_ignore_file
from kinetic_core.packaging.rules import RuleSet

# Few letters, so that patterns and names meet.
LETTERS = "ab.*?[]!-/# \\^\u00e9"
LINES = st.lists(st.text(LETTERS, max_size=8), max_size=6)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
NAMES = st.text("ab.*?[]!-# \\^\u00e9", min_size=1, max_size=6)
PATHS = st.lists(NAMES, min_size=1, max_size=4)


def is_ignored(lines: list[str], parts: list[str], *, is_dir: bool) -> bool:
    """Say by the words of the contract whether something is ignored."""
    for line in lines:
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        directories_only = pattern.endswith("/")
        pattern = pattern[:-1] if directories_only else pattern
        pattern = pattern.removeprefix("/")
        if directories_only and not is_dir:
            continue
        if fnmatch.fnmatchcase("/".join(parts), pattern) or fnmatch.fnmatchcase(parts[-1], pattern):
            return True
    return False


@given(lines=LINES, end=ENDS, bom=st.sampled_from(["", "\ufeff"]), parts=PATHS, is_dir=st.booleans())
def test_an_ignore_file_excludes_what_a_loop_over_fnmatch_excludes(
    lines: list[str], end: str, bom: str, parts: list[str], *, is_dir: bool
) -> None:
    rules, findings = parse_ignore_file((bom + end.join(lines)).encode())
    assert findings == ()
    found = RuleSet.compile(rules).match("/".join(parts), parts[-1], is_dir)
    assert (found is not None) is is_ignored(lines, parts, is_dir=is_dir)


@given(lines=LINES, parts=PATHS, is_dir=st.booleans())
def test_the_rule_that_is_told_is_the_first_line_that_excludes_alone(
    lines: list[str], parts: list[str], *, is_dir: bool
) -> None:
    rules, _ = parse_ignore_file("\n".join(lines).encode())
    found = RuleSet.compile(rules).match("/".join(parts), parts[-1], is_dir)
    alone = [number for number, line in enumerate(lines, start=1) if is_ignored([line], parts, is_dir=is_dir)]
    assert (found.origin if found else None) == (f".kineticignore:{alone[0]}" if alone else None)


@given(content=st.binary(max_size=60), parts=PATHS)
def test_no_content_of_an_ignore_file_is_fatal(content: bytes, parts: list[str]) -> None:
    rules, _ = parse_ignore_file(content)
    RuleSet.compile(rules).match("/".join(parts), parts[-1], is_dir=False)
