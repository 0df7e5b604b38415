"""Signals go out from guarded places alone: a wrong process id would end the caller, or everybody."""

import ast

from tests.architecture.source import ROOT, parse

# Each looks at the id first: `is_still`, the refusals of `signal_all`, or a `Popen` that knows its child.
GUARDED = {
    ("kinetic_core/packaging/secondprocess.py", "dismiss"),
    ("plugins/kinetic_local/launch.py", "_kill"),
    ("plugins/kinetic_local/processes.py", "signal_all"),
    ("plugins/kinetic_local/state.py", "signal_supervisor"),
}
# A job of the contract kit that ends itself.
ITSELF = {
    ("kinetic/testing/backend.py", "crash"),
    ("kinetic/testing/backend.py", "test_what_was_printed_before_a_crash_is_in_the_log"),
}
PACKAGES = ("kinetic", "kinetic_core", "kinetic_runner", "plugins")


def test_processes_are_signalled_from_guarded_functions_alone() -> None:
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for function in ast.walk(parse(path)):
                if isinstance(function, ast.FunctionDef) and any(map(_sends, ast.walk(function))):
                    found.add((path.relative_to(ROOT).as_posix(), function.name))
    assert found == GUARDED | ITSELF


def _sends(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("kill", "killpg", "pidfd_send_signal")
