"""`.kineticignore`: one `fnmatch` pattern a line, at the package root only."""

import re
import stat
from pathlib import Path
from typing import Final

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.rules import IGNORE_FILE, compile_glob, uncompilable

IGNORE_FILE_NAME: Final = ".kineticignore"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def read_ignore_file(root: Path) -> tuple[tuple[ExcludeRule, ...], tuple[Finding, ...]]:
    """Read the ignore file at the package root; never fatal.

    Args:
        root: The package root. Ignore files further down are ordinary files.

    Returns:
        The rules in the order of their lines, and a warning for each line, or for a file, that cannot be used.

    >>> read_ignore_file(Path("/nowhere"))
    ((), ())
    """
    path = root / IGNORE_FILE_NAME
    try:
        # Opening a FIFO would hang.
        if not stat.S_ISREG(path.stat().st_mode):
            return (), (_unusable(path, "it is no regular file"),)
        content = path.read_bytes()
    except FileNotFoundError:
        return (), ()
    except OSError as error:
        return (), (_unusable(path, error.strerror or type(error).__name__),)
    return parse_ignore_file(content)


def parse_ignore_file(content: bytes) -> tuple[tuple[ExcludeRule, ...], tuple[Finding, ...]]:
    r"""Read the lines of an ignore file.

    UTF-8, with or without a byte-order mark, any line ends; undecodable bytes are replaced. Surrounding blanks are
    dropped first; `#` starts a comment only as the first character of what is left; a trailing `/` restricts to
    directories; a leading `/` is dropped; `!` has no meaning.

    >>> rules, _ = parse_ignore_file(b"# notes\n*.ckpt\n /runs/ \n")
    >>> [(rule.pattern, rule.directories_only, rule.origin) for rule in rules]
    [('*.ckpt', False, '.kineticignore:2'), ('runs', True, '.kineticignore:3')]
    """
    rules, findings = [], []
    for number, line in enumerate(_LINE_END.split(content.decode("utf-8-sig", "replace")), start=1):
        rule = _rule(line.strip(), number)
        if rule is None:
            continue
        if compile_glob(rule.pattern) is None:
            findings.append(uncompilable(rule))
        else:
            rules.append(rule)
    return tuple(rules), tuple(findings)


def _rule(line: str, number: int) -> ExcludeRule | None:
    if line.startswith("#"):
        return None
    pattern = line.removesuffix("/").removeprefix("/")
    if not pattern:
        return None
    return ExcludeRule(
        pattern=pattern,
        directories_only=line.endswith("/"),
        source=IGNORE_FILE,
        origin=f"{IGNORE_FILE_NAME}:{number}",
    )


def _unusable(path: Path, reason: str) -> Finding:
    return Finding(
        code="ignore_file_unusable",
        severity=Severity.WARNING,
        message=f"{path} cannot be read ({reason}), so it excludes nothing",
        remedy="Make it a readable text file, or remove it.",
    )
