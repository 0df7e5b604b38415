"""What may explain that something is missing on the pod."""

import pytest

from kinetic_core.wire.plan import Plan
from kinetic_runner.advice import hints

PLAN = Plan(
    package_root="/p",
    client_cwd_rel="sub",
    sys_path_rel=("", "src"),
    excluded={"ignore-file": 3},
    excluded_files={
        "src/late.py": "late.py (ignore-file)",
        "pkg/": "pkg (ignore-file)",
        "sub/raw/": "raw (plugin:dvc)",
    },
)


def told(error: Exception) -> str:
    return "\n".join(hints(error, {}, PLAN))


@pytest.mark.parametrize(
    ("module", "rule"),
    [
        ("late", "src/late.py was kept out of the context by the rule late.py (ignore-file)"),
        ("pkg", "pkg/ was kept out of the context by the rule pkg (ignore-file)"),
        ("pkg.deep.sub", "pkg/ was kept out of the context by the rule pkg (ignore-file)"),
    ],
)
def test_a_module_that_a_rule_kept_out_is_told_with_the_rule(module: str, rule: str) -> None:
    assert rule in told(ModuleNotFoundError(f"No module named {module!r}", name=module))


@pytest.mark.parametrize("filename", ["raw/x.csv", "/p/sub/raw/x.csv", "./raw/../raw/x.csv", "raw"])
def test_a_file_that_a_rule_kept_out_is_told_with_the_rule(filename: str) -> None:
    assert "by the rule raw (plugin:dvc)" in told(FileNotFoundError(2, "No such file", filename))


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'other'", name="other"),
        ModuleNotFoundError("no name"),
        FileNotFoundError(2, "No such file", "other.csv"),
        FileNotFoundError(2, "No such file", "/elsewhere/raw/x.csv"),
        FileNotFoundError(2, "No such file", 3),
    ],
)
def test_what_no_rule_kept_out_gets_the_counts_alone(error: Exception) -> None:
    assert told(error) == "of the files under the package root, 3 excluded at the client (ignore-file: 3)"


@pytest.mark.parametrize("name", ["kinetic", "kinetic.testing", "kinetic_core.plugin"])
def test_the_clients_own_package_is_told_by_what_brings_it(name: str) -> None:
    error = ModuleNotFoundError(f"No module named {name!r}", name=name)
    assert "add kinetic-run to the dependency file or the image" in told(error)


def test_other_errors_get_no_such_hint() -> None:
    assert told(ValueError("raw/x.csv")) == ""
