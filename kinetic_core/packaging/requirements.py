"""Lines of a requirements file: joined, judged with the `packaging` library, and normalised."""

import codecs
import re
from pathlib import Path
from typing import Final, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from kinetic_core.findings import Finding, Severity
from kinetic_core.packaging.printable import printable

KEEP: Final = "kn:keep"
PROVIDED: Final = frozenset({"jax", "jaxlib", "libtpu", "libtpu-nightly"})
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COMMENT: Final = re.compile(r"(?:^|\s)#(.*)$")
_OPTIONS_BEHIND: Final = re.compile(r"\s--?[A-Za-z].*$")
_PATH_OPTION: Final = re.compile(
    r"(?:-[rcefi]|--requirement|--constraint|--editable|--find-links|--index-url|--extra-index-url)"
    r"(?:\s*=\s*|\s+|(?<=-[rcefi]))(?P<value>\S.*)$"
)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_ARCHIVES: Final = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_CREDENTIALS: Final = re.compile(r"://[^/@\s]+@")
_VARIABLE: Final = re.compile(r"\$\{[A-Z0-9_]+\}")
_EGG: Final = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")


class Line(NamedTuple):
    """One logical line: continuation lines joined, the comment apart."""

    number: int
    """Of its first physical line, from 1; 0 when unknown."""
    text: str
    comment: str


def read_lines(content: bytes) -> tuple[Line, ...]:
    r"""Split a requirements file into logical lines, leaving out the empty ones.

    Args:
        content: UTF-8, or what its byte-order mark says; undecodable bytes are replaced.

    >>> read_lines(b"numpy  # fast\nfoo==1 \\\n  --hash=sha256:00\n")
    (Line(number=1, text='numpy', comment=' fast'), Line(number=2, text='foo==1 --hash=sha256:00', comment=''))
    """
    lines: list[Line] = []
    pending: list[str] = []
    comments: list[str] = []
    first = 0
    physical = _decoded(content).splitlines()
    for number, raw in enumerate(physical, start=1):
        first = first or number
        text, comment = _split_comment(raw)
        continues = not comment and raw.endswith("\\")
        pending.append(text.removesuffix("\\").strip() if continues else text.strip())
        comments.append(comment)
        if continues and number < len(physical):
            continue
        joined = " ".join(part for part in pending if part)
        if joined:
            lines.append(Line(number=first, text=joined, comment=" ".join(filter(None, comments))))
        pending, comments, first = [], [], 0
    return tuple(lines)


def _decoded(content: bytes) -> str:
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return content[len(bom) :].decode(encoding, "replace")
    return content.decode("utf-8", "replace")


def _split_comment(raw: str) -> tuple[str, str]:
    found = _COMMENT.search(raw)
    return (raw, "") if found is None else (raw[: found.start()], found.group(1))


def normalise(
    path: Path, lines: tuple[Line, ...], *, remote: bool, installed: bool = False
) -> tuple[str, tuple[Finding, ...]]:
    r"""Leave out what the image provides, and refuse what cannot be installed elsewhere.

    Args:
        path: The file, for messages.
        lines: Its logical lines.
        remote: Whether the install happens elsewhere.
        installed: Whether somebody will install them all for the job: a line that no installer reads is then an error.

    Returns:
        One requirement or option a line, without comments; and what is to be said about them.

    >>> normalise(Path("r.txt"), read_lines(b"numpy>=2\njax[tpu]\n"), remote=True)[0]
    'numpy>=2\n'
    """
    kept: list[str] = []
    findings: list[Finding] = []
    for line in lines:
        where = f"{path}:{line.number}" if line.number else str(path)
        target = _target(line.text)
        if target.name in PROVIDED and KEEP not in line.comment:
            findings.append(_removed(where, line.text, target.name))
            continue
        if remote and target.location is not None and _is_local(target.location):
            findings.append(_local(where, line.text))
        elif not target.is_readable:
            # Installers put the value of a variable in before they read the line.
            findings.append(_unreadable(where, line.text, stops=installed and not _VARIABLE.search(line.text)))
        kept.append(line.text)
    return "".join(f"{text}\n" for text in kept), tuple(findings)


def requirement_name(text: str) -> str:
    """Return the normalised name of what a line installs, empty when it does not tell.

    >>> requirement_name("Scikit_Learn[all]>=1.5; python_version>'3'"), requirement_name("-i https://index")
    ('scikit-learn', '')
    """
    return _target(text).name


class _Target(NamedTuple):
    """What a line installs, or reads."""

    name: str = ""
    """Normalised; empty when the line does not tell."""
    location: str | None = None
    """URL or path; `None` for what comes from an index, and for options without one."""
    is_readable: bool = True


def _target(text: str) -> _Target:
    option = _PATH_OPTION.match(text)
    if option is not None:
        return _Target(name=_name_in(option["value"]), location=option["value"])
    if text.startswith("-"):
        return _Target()
    specifier = _OPTIONS_BEHIND.sub("", text)
    # `x.whl` is also a valid name; installers take it for the file.
    if specifier.endswith(_ARCHIVES) and " @ " not in specifier:
        return _Target(name=_name_in(specifier), location=specifier)
    try:
        parsed = Requirement(specifier)
    except InvalidRequirement:
        is_location = specifier.startswith(".") or "/" in specifier or _URL.match(specifier) is not None
        return _Target(_name_in(specifier), specifier if is_location else None, is_location)
    return _Target(name=canonicalize_name(parsed.name), location=parsed.url)


def _name_in(location: str) -> str:
    """Read the name out of `#egg=` or of a wheel's file name."""
    egg = _EGG.search(location)
    if egg is not None:
        return canonicalize_name(egg.group(1))
    try:
        return parse_wheel_filename(re.split(r"[#?]", location)[0].rpartition("/")[2])[0]
    except InvalidWheelFilename:
        return ""


def _is_local(location: str) -> bool:
    scheme = _URL.match(location)
    return scheme is None or scheme.group().lower().removesuffix(":").rpartition("+")[2] == "file"


def _shown(text: str) -> str:
    return printable(_CREDENTIALS.sub("://***@", text))


def _removed(where: str, text: str, name: str) -> Finding:
    return Finding(
        code="requirement_removed",
        severity=Severity.WARNING,
        message=f"{where}: left out '{_shown(text)}': the image brings the {name} that fits its accelerator",
        remedy=f"Write # {KEEP} behind it to install it all the same.",
    )


def _local(where: str, text: str) -> Finding:
    return Finding(
        code="requirement_local",
        severity=Severity.ERROR,
        message=f"{where}: '{_shown(text)}' points at a local path, which does not exist where the install happens",
        remedy="Name a published package or a URL; code of the project itself ships with the context.",
    )


def _unreadable(where: str, text: str, *, stops: bool) -> Finding:
    outcome = "no installer takes it" if stops else "it is passed on as it is"
    return Finding(
        code="requirement_unreadable",
        severity=Severity.ERROR if stops else Severity.WARNING,
        message=f"{where}: '{_shown(text)}' is no valid requirement; {outcome}",
        remedy="Write it as PEP 508 says: name, version, marker.",
    )
