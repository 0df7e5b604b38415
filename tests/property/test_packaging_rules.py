"""The ignore file against the plainest reading of the contract: a loop over `fnmatch`."""

import fnmatch

from hypothesis import assume, given
from hypothesis import strategies as st

from kinetic_core.model.rule import ExcludeRule
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
    found = RuleSet.compile(rules).match("/".join(parts), parts[-1], is_dir=False)
    assert found is None or found in rules


RULES = st.lists(
    st.builds(
        ExcludeRule,
        pattern=st.one_of(st.text(LETTERS, max_size=6), PATHS.map("/".join)),
        kind=st.sampled_from(["name", "glob", "path"]),
        directories_only=st.booleans(),
    ),
    max_size=8,
)


def applies(rule: ExcludeRule, rel: str, *, is_dir: bool) -> bool:
    """Say by the words of the interface whether a rule keeps something out."""
    name = rel.rpartition("/")[2]
    if rule.directories_only and not is_dir:
        return False
    if rule.kind == "name":
        return name == rule.pattern
    if rule.kind == "path":
        return rel == rule.pattern or rel.startswith(f"{rule.pattern}/")
    return fnmatch.fnmatchcase(rel, rule.pattern) or fnmatch.fnmatchcase(name, rule.pattern)


@given(rules=RULES, parts=PATHS, is_dir=st.booleans())
def test_rules_of_any_kind_sorted_are_the_first_that_applies_in_a_loop(
    rules: list[ExcludeRule], parts: list[str], *, is_dir: bool
) -> None:
    rel = "/".join(parts)
    first = next((rule for rule in rules if applies(rule, rel, is_dir=is_dir)), None)
    assert RuleSet.compile(rules).match(rel, parts[-1], is_dir) is first


@given(rules=RULES, directory=st.lists(NAMES, max_size=3), names=st.lists(NAMES, max_size=4))
def test_a_directory_asked_as_a_whole_is_told_what_its_files_are_told_one_by_one(
    rules: list[ExcludeRule], directory: list[str], names: list[str]
) -> None:
    compiled = RuleSet.compile(rules)
    above = ["/".join(directory[: number + 1]) for number in range(len(directory))]
    assume(not any(compiled.match(rel, rel.rpartition("/")[2], is_dir=True) for rel in above))
    one_by_one = [compiled.match("/".join([*directory, name]), name, is_dir=False) for name in names]
    assert compiled.keeps_every_file("/".join(directory), names) is not any(one_by_one)
