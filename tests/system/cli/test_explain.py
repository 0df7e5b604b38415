"""`kinetic explain` shows what would ship and why; `kinetic package` writes it. Neither submits anything."""

import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.system.cli.conftest import Cli

JOB = """
import os
import cloudpickle
import kinetic
import primes_sieve

print("loaded by", os.path.basename(__file__))


@kinetic.run(accelerator="cpu", backend="local", capture_env_vars=["APP_*"], secrets=["WANDB_KEY"])
def count(limit: int, model: kinetic.Data | None = None) -> int:
    return len(primes_sieve.primes_below(limit))


@kinetic.run(accelerator="cpu", backend="local")
def ready() -> int:
    return 1


if __name__ == "__main__":
    count(10)
"""


@pytest.fixture
def job(project: Path) -> Path:
    (project / "primes_sieve.py").write_text("def primes_below(limit):\n    return [2, 3]\n")
    (project / "requirements.txt").write_text("attrs\n")
    (project / ".kineticignore").write_text("*.log\nnotes/\n")
    (project / "count.py").write_text(JOB)
    for name in ("a.log", "b.log", ".env", "notes/todo.md", ".venv/lib.py", "weights.bin"):
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * 100)
    (project / "gone").symlink_to("nowhere")
    return project


def explained(cli: Cli, *args: str, **environ: str) -> dict[str, Any]:
    ended = cli("explain", *args, "--json", **environ)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


SECRETS = {"APP_MODE": "captured-value", "WANDB_KEY": "secret-value"}


def test_json_tells_root_files_rules_modules_imports_and_findings(cli: Cli, job: Path) -> None:
    found = explained(cli, "count.py:count", **SECRETS)

    assert (found["format"], found["function"], found["is_call"]) == (1, "count.py:count", False)
    assert (found["root"]["path"], found["root"]["step"]) == (str(job), "marker")
    assert found["root"]["trail"]
    names = [entry["name"] for entry in found["context"]["entries"]]
    assert {"count.py", "primes_sieve.py", "weights.bin", ".env", ".kinetic/plan.json"} <= set(names)
    rules = {(rule["source"], rule["rule"]): (rule["count"], rule["names"]) for rule in found["context"]["excluded"]}
    assert rules["ignore-file", "*.log"] == (2, ["a.log", "b.log"])
    assert rules["default", ".venv"] == (1, [".venv/"])
    assert [skipped["name"] for skipped in found["context"]["skipped"]] == ["gone"]
    assert found["context"]["secret_files"] == [".env"]
    assert found["payload"]["modules_by_value"] == ["count", "primes_sieve"]
    assert [(one["module"], one["declared"]) for one in found["imports"]] == [("cloudpickle", False)]
    assert found["environment"] == {"captured": ["APP_MODE"], "secrets": ["WANDB_KEY"]}
    assert found["dependency_file"] == str(job / "requirements.txt")
    assert "secret_looking_files" in [finding["code"] for finding in found["findings"]]


def test_the_documentation_lists_every_key(cli: Cli, job: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, flags=re.MULTILINE))

    found = explained(cli, "count.py:count", **SECRETS)

    assert rows.keys() == found.keys()
    for key, value in found.items():
        nested = value if isinstance(value, dict) and key != "plan" else {}
        for name in nested:
            assert f"`{name}`" in rows[key]


def test_text_shows_the_same_and_is_folded(cli: Cli, job: Path) -> None:
    shown = cli("explain", "count.py:count", **SECRETS).stdout

    for told in (
        f"package root: {job}",
        "primes_sieve.py  ",
        "2 by '*.log' (ignore-file): a.log, b.log",
        "gone: ",
        "  .env",
        "cloudpickle: cloudpickle ",
        "NOT in the dependency file",
        f"dependency file: {job / 'requirements.txt'}",
        "warning secret_looking_files: ",
    ):
        assert told in shown


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_no_value_of_a_variable_is_ever_printed(cli: Cli, job: Path, as_json: tuple[str, ...]) -> None:
    ended = cli("explain", "count.py:count", *as_json, **SECRETS, KINETIC_LOG_LEVEL="DEBUG")

    assert "captured-value" not in ended.stdout + ended.stderr
    assert "secret-value" not in ended.stdout + ended.stderr


def test_arguments_on_the_command_line_are_part_of_the_call(cli: Cli, job: Path) -> None:
    found = explained(cli, "count.py:count", "--args", '["' + "x" * 100_000 + '"]', **SECRETS)

    assert found["is_call"]
    assert found["payload"]["components"][0]["name"] == "argument 0"
    assert found["payload"]["components"][0]["size_bytes"] > 90_000


def test_a_function_without_parameters_is_a_call_by_itself(cli: Cli, job: Path) -> None:
    assert explained(cli, "count.py:ready")["is_call"]


def test_arguments_that_do_not_fit_are_wrong_usage(cli: Cli, job: Path) -> None:
    ended = cli("explain", "count.py:count", "--kwargs", '{"limti": 1}', **SECRETS)

    assert ended.returncode == 2
    assert "'limit'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_wrong_function_is_answered_with_the_nearest(cli: Cli, job: Path) -> None:
    ended = cli("explain", "count.py:cuont")

    assert ended.returncode == 2
    answer = "kinetic: count.py has no function 'cuont'. Did you mean 'count'? It defines: count, ready"
    assert ended.stderr.splitlines() == ["loaded by count.py", answer]


def test_what_the_file_prints_does_not_mix_with_the_answer(cli: Cli, job: Path) -> None:
    ended = cli("explain", "count.py:ready")

    assert ended.stdout.startswith("count.py:ready\n")
    assert ended.stderr == "loaded by count.py\n"


def test_what_cannot_be_pickled_is_named_and_nothing_stays_behind(cli: Cli, project: Path, tmp_path: Path) -> None:
    (project / "lock.py").write_text("import threading\nLOCK = threading.Lock()\ndef f():\n    return LOCK\n")
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    ended = cli("explain", "lock.py:f", TMPDIR=str(scratch))

    assert ended.returncode == 1
    assert "LOCK" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(scratch.iterdir()) == []


def test_a_file_whose_own_code_fails_shows_the_users_traceback(cli: Cli, project: Path) -> None:
    (project / "broken.py").write_text("def f():\n    return 1\n\nf(1)\n")

    ended = cli("explain", "broken.py:f")

    assert ended.returncode == 1
    assert f'File "{project / "broken.py"}", line 4' in ended.stderr
    assert "kinetic/cli" not in ended.stderr


def test_nothing_is_submitted_uploaded_or_left_behind(cli: Cli, job: Path, home: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = sorted(job.rglob("*"))

    environ = {"TMPDIR": str(scratch), "KINETIC_CACHE": "off", "PYTHONDONTWRITEBYTECODE": "1", **SECRETS}
    ended = cli("explain", "count.py:count", **environ)

    assert ended.returncode == 0
    assert list(scratch.iterdir()) == []
    assert list(home.iterdir()) == []
    assert sorted(job.rglob("*")) == before


def test_a_call_at_the_top_level_of_the_file_is_refused(cli: Cli, project: Path, home: Path) -> None:
    (project / "eager.py").write_text(
        "import kinetic\n@kinetic.run(accelerator='cpu', backend='local')\ndef f(): return 1\nf()\n"
    )

    ended = cli("explain", "eager.py:f")

    assert ended.returncode == 1
    assert "f was not submitted" in ended.stderr
    assert list(home.iterdir()) == []


def test_odd_file_names_are_shown_escaped(cli: Cli, project: Path) -> None:
    (project / "job.py").write_text("def f():\n    return 1\n")
    (project / "two\nlines").touch()
    (project / os.fsdecode(b"bad\xff.txt")).touch()

    ended = cli("explain", "job.py:f", PYTHONIOENCODING="ascii")

    assert ended.returncode == 0
    assert "two\\nlines" in ended.stdout
    assert "bad\\xff.txt" in ended.stdout


def test_html_is_a_page_with_every_visible_file_and_the_text(cli: Cli, job: Path, tmp_path: Path) -> None:
    (job / "<b>&.py").write_text("x = 1\n" * 50)
    page = tmp_path / "out.html"

    ended = cli("explain", "count.py:count", "--html", str(page), **SECRETS)

    assert ended.returncode == 0
    assert ended.stdout.startswith("count.py:count")
    document = ET.fromstring(page.read_text(encoding="utf-8").partition("\n")[2])
    drawn = [title.text or "" for title in document.iter("title")]
    assert any(told.startswith("<b>&.py  ") for told in drawn)
    assert any(told.startswith("count.py  ") for told in drawn)
    (text,) = document.iter("pre")
    assert text.text is not None
    assert text.text.splitlines()[0] == ended.stdout.splitlines()[0]
    assert "secret_looking_files" in text.text
    assert "://" not in page.read_text(encoding="utf-8").replace("file://", "")
    assert "captured-value" not in page.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_wrong_usage(cli: Cli, job: Path, tmp_path: Path) -> None:
    ended = cli("explain", "count.py:ready", "--html", str(tmp_path / "gone/out.html"))

    assert ended.returncode == 2
    assert "--html" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_package_writes_the_artifacts_and_logs_each_warning_once(cli: Cli, job: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "deep"

    ended = cli("package", "count.py:count", "-o", str(out), "--json", **SECRETS)

    made = json.loads(ended.stdout)
    assert ended.returncode == 0
    assert made["context"]["path"] == str(out / "context.zip")
    assert made["payload"]["size_bytes"] == (out / "payload.pkl").stat().st_size
    assert "count.py" in zipfile.ZipFile(out / "context.zip").namelist()
    assert ended.stderr.count("look like secrets") == 1


def test_package_in_text_lists_the_files(cli: Cli, job: Path, tmp_path: Path) -> None:
    shown = cli("package", "count.py:ready", "-o", str(tmp_path / "out"))

    lines = shown.stdout.splitlines()
    assert lines[0].split() == ["FILE", "SIZE", "SHA256"]
    assert lines[1].startswith(str(tmp_path / "out" / "context.zip"))
