import codecs
from pathlib import Path

import pytest

from kinetic_core.findings import Finding, Severity
from kinetic_core.packaging.requirements import Line, normalise, read_lines, requirement_name

FILE = Path("/p/requirements.txt")


def normalised(content: str, *, remote: bool = True) -> tuple[str, tuple[Finding, ...]]:
    return normalise(FILE, read_lines(content.encode()), remote=remote)


def codes(content: str, *, remote: bool = True) -> list[str]:
    return [finding.code for finding in normalised(content, remote=remote)[1]]


def test_comments_and_blank_lines_are_left_out() -> None:
    text, findings = normalised("# head\n\nnumpy>=2  # fast\n   \nrich\t# pretty\n  attrs  \n")
    assert text == "numpy>=2\nrich\nattrs\n"
    assert findings == ()


def test_a_hash_without_a_blank_before_it_is_no_comment() -> None:
    line = "git+https://host/x.git#egg=x"
    assert normalised(line)[0] == f"{line}\n"


def test_continuation_lines_are_one_entry_named_by_the_first() -> None:
    content = b"a==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n\nb\n"
    assert read_lines(content) == (
        Line(number=1, text="a==1 --hash=sha256:00 --hash=sha256:11", comment=""),
        Line(number=5, text="b", comment=""),
    )


def test_a_continuation_at_the_end_of_the_file_and_an_empty_one_are_harmless() -> None:
    assert [line.text for line in read_lines(b"\\\n\na \\")] == ["a"]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_any_line_ends_are_accepted(ends: str) -> None:
    assert [line.text for line in read_lines(f"a{ends}b \\{ends} --pre{ends}".encode())] == ["a", "b --pre"]


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_tells_the_encoding(bom: bytes, encoding: str) -> None:
    assert [line.text for line in read_lines(bom + "numpy # é\nrich".encode(encoding))] == ["numpy", "rich"]


def test_undecodable_bytes_are_never_fatal() -> None:
    assert read_lines(b"numpy # caf\xe9\n")[0].text == "numpy"


def test_an_empty_file_is_an_empty_list() -> None:
    assert normalised("# nothing\n\n") == ("", ())


@pytest.mark.parametrize(
    "line",
    [
        "jax",
        "JAX==0.4.35",
        "jax[tpu]>=0.4 ; python_version > '3.9'",
        "jaxlib",
        "libtpu",
        "libtpu-nightly",
        "libtpu_nightly==0.1",
        "Libtpu.Nightly",
        "jax @ https://host/jax.tar.gz",
        "https://host/jaxlib-0.4.35-cp311-cp311-manylinux2014_x86_64.whl",
        "git+https://github.com/jax-ml/jax.git#egg=jax",
        "-e git+https://github.com/jax-ml/jax.git@main#egg=jax[tpu]",
        "jax==0.4 --hash=sha256:00",
        "jax==0.4 \\\n  --hash=sha256:00 \\\n  --hash=sha256:11",
    ],
)
def test_what_the_image_provides_is_removed_with_a_warning_continuation_lines_too(line: str) -> None:
    text, (finding,) = normalised(f"numpy\n{line}\nrich\n")
    assert text == "numpy\nrich\n"
    assert (finding.code, finding.severity) == ("requirement_removed", Severity.WARNING)
    assert finding.message.startswith(f"{FILE}:2: ")


@pytest.mark.parametrize("line", ["jax # kn:keep", "jax==0.4  #kn:keep pinned", "jax \\\n ==0.4 # kn:keep"])
def test_a_line_marked_to_be_kept_is_kept(line: str) -> None:
    text, findings = normalised(line)
    assert text.startswith("jax")
    assert findings == ()


@pytest.mark.parametrize("line", ["jaxtyping", "flax", "my-jax", "jax-md", "https://host/flax-1.0-py3-none-any.whl"])
def test_packages_of_similar_names_stay(line: str) -> None:
    assert normalised(line) == (f"{line}\n", ())


LOCAL = [
    "-r other.txt",
    "-rother.txt",
    "--requirement other.txt",
    "--requirement=other.txt",
    "-c constraints.txt",
    "--constraint=constraints.txt",
    "-e .",
    "-e.",
    "--editable ./lib",
    "-e file:///src/lib",
    "-f ./wheels",
    "--find-links=wheels",
    "--index-url file:///mirror",
    "./x.whl",
    "../x",
    "x.whl",
    "lib/",
    "/abs/x.tar.gz",
    ".",
    ".[dev]",
    "file:///x.whl",
    "FILE:///x.whl",
    "git+file:///x",
    "pkg @ ./x",
    "pkg @ file:///x",
    "pkg[extra] @ ../x ; python_version > '3'",
]


@pytest.mark.parametrize("line", LOCAL)
def test_a_local_path_is_an_error_that_names_the_line_where_the_install_happens_elsewhere(line: str) -> None:
    _, (finding,) = normalised(f"numpy\n\n{line}\n")
    assert (finding.code, finding.severity) == ("requirement_local", Severity.ERROR)
    assert finding.message.startswith(f"{FILE}:3: '{line}'")


@pytest.mark.parametrize("line", LOCAL)
def test_a_local_path_is_kept_where_the_install_happens_here(line: str) -> None:
    assert normalised(line, remote=False) == (f"{line}\n", ())


@pytest.mark.parametrize(
    "line",
    [
        "-r https://host/requirements.txt",
        "-c https://host/constraints.txt",
        "-e git+https://host/x.git#egg=x",
        "git+ssh://git@host/x.git",
        "https://host/x.tar.gz",
        "pkg @ https://host/x.whl",
        "-i https://host/simple",
        "--extra-index-url https://host/simple",
        "--find-links https://host/wheels",
        "--pre",
        "--no-index",
        "numpy ; sys_platform == 'linux'",
        "numpy>=2,<3",
    ],
)
def test_what_can_be_installed_anywhere_passes(line: str) -> None:
    assert normalised(line) == (f"{line}\n", ())


def test_every_local_line_is_told_at_once() -> None:
    assert codes("-e .\njax\n./x.whl\n") == ["requirement_local", "requirement_removed", "requirement_local"]


@pytest.mark.parametrize("line", ["numpy==", "two words", "=1", "numpy>>2"])
def test_a_line_that_makes_no_sense_is_passed_on_with_a_warning(line: str) -> None:
    text, (finding,) = normalised(line)
    assert text == f"{line}\n"
    assert (finding.code, finding.severity) == ("requirement_unreadable", Severity.WARNING)
    assert finding.message.startswith(f"{FILE}:1: ")


@pytest.mark.parametrize("line", ["numpy==", "two words", "=1", "numpy>>2"])
def test_a_line_that_makes_no_sense_is_an_error_where_it_would_be_installed(line: str) -> None:
    _, (finding,) = normalise(FILE, read_lines(f"rich\n{line}\n".encode()), remote=True, installed=True)
    assert (finding.code, finding.severity) == ("requirement_unreadable", Severity.ERROR)
    assert finding.message.startswith(f"{FILE}:2: '{line}'")


def test_a_line_with_a_variable_is_left_to_the_installer() -> None:
    _, (finding,) = normalise(FILE, read_lines(b"${NAME}==1\n"), remote=True, installed=True)
    assert (finding.code, finding.severity) == ("requirement_unreadable", Severity.WARNING)


def test_no_message_holds_the_credentials_of_a_url() -> None:
    for line in ("jax @ https://user:hunter2@host/jax.whl", "-e file://hunter2@host/x"):
        _, (finding,) = normalised(line)
        assert "hunter2" not in finding.message
        assert "***" in finding.message


@pytest.mark.parametrize(
    ("line", "name"),
    [("Scikit_Learn[all]>=1.5", "scikit-learn"), ("--pre", ""), ("x-1.0-py3-none-any.whl", "x"), ("not valid", "")],
)
def test_the_name_that_a_line_installs(line: str, name: str) -> None:
    assert requirement_name(line) == name
