"""Every hook has a section in the documentation and a test."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from kinetic_core.plugin import specs
from kinetic_gke import specs as gke_specs
from tests.architecture.source import ROOT

HOOKS: dict[str, Callable[..., Any]] = {
    name: value
    for module in (specs, gke_specs)
    for name, value in vars(module).items()
    if hasattr(value, "kinetic_spec")
}
SECTIONS = re.split(r"^## ", (ROOT / "docs/reference/hooks.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
DOCUMENTED = {section.partition("\n")[0].strip(): section for section in SECTIONS}


def kind(name: str) -> str:
    """Return the kind as the documentation words it; the spec's options decide what they can."""
    options = vars(HOOKS[name])["kinetic_spec"]
    if options["historic"]:
        return "historic"
    if options["firstresult"]:
        return "first result"
    return "observe" if inspect.signature(HOOKS[name]).return_annotation in {None, "None"} else "collect"


def test_the_documentation_has_a_section_for_each_hook_and_no_other() -> None:
    assert set(DOCUMENTED) == set(HOOKS)
    assert HOOKS


@pytest.mark.parametrize("name", HOOKS)
def test_the_section_gives_the_hooks_own_signature_and_kind(name: str) -> None:
    arguments = ", ".join(inspect.signature(HOOKS[name]).parameters)
    line = next(line for line in DOCUMENTED[name].splitlines() if line.startswith(f"`{name}("))
    written = re.sub(r": (?:[^,()\[\]]|\[[^\]]*\])+(?=[,)])", "", line.partition("->")[0]).strip("` ")
    assert written == f"{name}({arguments})"
    assert f"· {kind(name)}" in line


@pytest.mark.parametrize("name", HOOKS)
def test_the_section_shows_an_implementation(name: str) -> None:
    assert re.search(rf"^@hookimpl(\(optionalhook=True\))?\ndef {name}\(", DOCUMENTED[name], flags=re.MULTILINE)


@pytest.mark.parametrize("name", HOOKS)
def test_some_test_uses_the_hook(name: str) -> None:
    users = [
        path
        for path in (ROOT / "tests").rglob("*.py")
        if "architecture" not in path.parts and name in path.read_text(encoding="utf-8")
    ]
    assert users
