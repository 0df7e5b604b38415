"""What only a type checker can see is put before one: `tests/typing` is checked, not run."""

import re
import tomllib

from tests.architecture.source import ROOT


def test_the_decorated_signature_is_kept_for_type_checkers() -> None:
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert said["strict"] is True  # an ignored error that is none any more is one, too
    assert "tests" in said["files"]
    assert 'session.run("mypy")' in (ROOT / "noxfile.py").read_text()
    checked = (ROOT / "tests/typing/decorated_signature.py").read_text()
    for expression in ("area(", "area.local(", "area.run_async(", "area.options(", "Trainer().fit("):
        assert f"assert_type({expression}" in checked
    assert len(re.findall(r"# type: ignore\[(arg-type|call-arg|call-overload)\]", checked)) >= 4
