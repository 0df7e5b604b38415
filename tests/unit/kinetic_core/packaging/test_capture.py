import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.findings import Severity
from kinetic_core.packaging.capture import NEVER_BY_PREFIX, capture

ENVIRON = {
    "PATH": "/bin",
    "LD_PRELOAD": "x.so",
    "KERAS_BACKEND": "jax",
    "HF_HOME": "/hf",
    "HF_TOKEN": "hush-hush",
    "A*B": "literal",
    "ODD": "two\nlines \udcff",
    "EMPTY": "",
}


def test_an_exact_name_is_taken_and_an_unset_one_skipped() -> None:
    captured = capture(["HF_HOME", "UNSET", "EMPTY"], ENVIRON)
    assert captured.values == {"EMPTY": "", "HF_HOME": "/hf"}
    assert captured.names == ("EMPTY", "HF_HOME")


def test_a_trailing_star_is_a_prefix() -> None:
    assert capture(["HF_*"], ENVIRON).names == ("HF_HOME", "HF_TOKEN")


def test_a_star_elsewhere_is_an_ordinary_character() -> None:
    assert capture(["A*B"], ENVIRON).names == ("A*B",)
    assert capture(["A*B"], {"AxB": "1"}).names == ()
    assert capture(["A*B*"], {"A*BC": "1", "AxBC": "2"}).names == ("A*BC",)


def test_every_name_is_what_the_lone_star_means() -> None:
    captured = capture(["*"], ENVIRON)
    assert captured.names == ("A*B", "EMPTY", "HF_HOME", "HF_TOKEN", "ODD")
    assert captured.skipped == ("KERAS_BACKEND", "LD_PRELOAD", "PATH")


def test_the_names_of_the_clients_machine_are_those_of_the_contract() -> None:
    assert len(NEVER_BY_PREFIX) == 18
    assert capture(["*", "KUBERNETES_*", "SSH_*"], dict.fromkeys(NEVER_BY_PREFIX, "x")).names == ()


@pytest.mark.parametrize("names", [["PATH", "*"], ["*", "PATH"], ["PA*", "PATH"]])
def test_an_exact_name_wins_over_the_blocklist_in_any_order(names: list[str]) -> None:
    captured = capture(names, ENVIRON)
    assert captured.values["PATH"] == "/bin"
    assert "PATH" not in captured.skipped


def test_odd_values_survive() -> None:
    assert capture(["ODD"], ENVIRON).values["ODD"] == "two\nlines \udcff"


@pytest.mark.parametrize("names", ["HF_*", b"HF_*"])
def test_a_single_string_is_a_type_error_that_says_what_to_write(names: str) -> None:
    with pytest.raises(TypeError, match=r"write \["):
        capture(names, ENVIRON)


def test_names_are_told_and_values_never() -> None:
    captured = capture(["*"], ENVIRON)
    told = repr(captured) + "".join(finding.message + finding.remedy for finding in captured.findings)
    assert "HF_TOKEN" in told
    assert "LD_PRELOAD" in captured.findings[0].message
    assert not [value for value in ("hush-hush", "/hf", "x.so", "literal") if value in told]


def test_one_warning_names_all_that_look_like_secrets() -> None:
    names = ["MY_TOKEN", "a_secret", "SSH_KEY", "PassWord", "CREDENTIALS_FILE", "PLAIN"]
    findings = capture(names, dict.fromkeys(names, "v")).findings
    (warning,) = (finding for finding in findings if finding.severity is Severity.WARNING)
    assert warning.code == "environment_secret"
    assert all(name in warning.message for name in names[:-1])
    assert "PLAIN" not in warning.message
    assert "payload in the job store, readable by every job" in warning.message


def test_what_looks_like_no_secret_gives_no_warning() -> None:
    assert [finding.severity for finding in capture(["HF_HOME"], ENVIRON).findings] == [Severity.INFO]
    assert "none" in capture(["UNSET"], ENVIRON).findings[0].message


def test_nothing_asked_is_nothing_told() -> None:
    captured = capture([], ENVIRON)
    assert (captured.values, captured.names, captured.skipped, captured.findings) == ({}, (), (), ())


def test_a_name_that_cannot_be_printed_breaks_no_line() -> None:
    assert "\n" not in capture(["A\nB"], {"A\nB": "v"}).findings[0].message


NAMES = st.text("AB*_", min_size=1, max_size=4)


@given(st.lists(NAMES, max_size=4), st.dictionaries(NAMES, st.text(max_size=2), max_size=6))
def test_what_is_captured_is_what_the_rules_say_name_by_name(asked: list[str], environ: dict[str, str]) -> None:
    def wanted(name: str) -> bool:
        return any(name.startswith(rule[:-1]) if rule.endswith("*") else name == rule for rule in asked)

    assert capture(asked, environ).values == {name: value for name, value in environ.items() if wanted(name)}
