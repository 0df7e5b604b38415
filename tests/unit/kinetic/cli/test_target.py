"""`FILE:FUNCTION`: loaded as `python FILE` would, but not as the main program."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetic.cli.target import load_file, load_target
from kinetic_core.errors import PackagingError, UsageError
from kinetic_core.model.request import RunOptions


@pytest.fixture(autouse=True)
def _interpreter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Let the loader change path, arguments and modules, and put all back."""
    before = dict(sys.modules)
    monkeypatch.setattr(sys, "path", ["where-kinetic-was-started", *sys.path])
    monkeypatch.setattr(sys, "argv", ["kinetic", "explain"])
    monkeypatch.chdir(tmp_path)
    yield
    for name in sys.modules.keys() - before.keys():
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def write(path: Path, source: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path


def test_the_file_sees_its_own_directory_and_name(tmp_path: Path) -> None:
    write(tmp_path / "sub" / "helper_of_job.py", "VALUE = 7\n")
    path = write(
        tmp_path / "sub" / "job_one.py",
        "import sys\nfrom helper_of_job import VALUE\n"
        "NAME, ARGV, FIRST = __name__, list(sys.argv), sys.path[0]\n"
        "if __name__ == '__main__':\n    raise SystemExit('ran as the main program')\n",
    )

    module: Any = load_file(path)

    assert (module.VALUE, module.NAME) == (7, "job_one")
    assert ([str(path)], str(path.parent)) == (module.ARGV, module.FIRST)
    assert sys.modules["job_one"] is module
    assert "where-kinetic-was-started" not in sys.path


def test_a_file_named_like_a_loaded_module_replaces_none(tmp_path: Path) -> None:
    import json

    module = load_file(write(tmp_path / "json.py", "def f(): return 1\n"))

    assert sys.modules["json"] is json
    assert module.__name__ == "json_script"


def test_a_file_in_a_package_may_import_relatively(tmp_path: Path) -> None:
    write(tmp_path / "src" / "pkg_of_test" / "__init__.py", "")
    write(tmp_path / "src" / "pkg_of_test" / "consts.py", "VALUE = 3\n")
    path = write(tmp_path / "src" / "pkg_of_test" / "train.py", "from .consts import VALUE\n")

    module: Any = load_file(path)

    assert (module.__name__, module.VALUE) == ("pkg_of_test.train", 3)


def test_any_name_of_a_file_can_be_loaded(tmp_path: Path) -> None:
    module: Any = load_file(write(tmp_path / "my-job.v2", "X = 1\n"))

    assert module.X == 1


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import no_such_module_x\n", "No module named 'no_such_module_x'"),
        ("def f(:\n", "SyntaxError"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ],
)
def test_a_failure_of_the_files_own_code_is_shown_from_the_file_on(tmp_path: Path, source: str, told: str) -> None:
    path = write(tmp_path / "failing_job.py", source)

    with pytest.raises(PackagingError) as caught:
        load_file(path)

    assert told in str(caught.value)
    assert str(path) in str(caught.value)
    assert "kinetic/cli" not in str(caught.value)


def test_a_remote_call_while_loading_is_refused_rather_than_submitted(tmp_path: Path) -> None:
    path = write(
        tmp_path / "unguarded_job.py",
        "import kinetic\n@kinetic.run(accelerator='cpu', backend='local')\ndef work(): return 1\nwork()\n",
    )

    with pytest.raises(PackagingError, match=r"work was not submitted: unguarded_job.py calls a function"):
        load_file(path)


def test_a_decorated_function_is_unwrapped_and_its_options_kept(tmp_path: Path) -> None:
    write(
        tmp_path / "decorated_job.py",
        "import kinetic\n"
        "class Trainer:\n"
        "    @kinetic.run(accelerator='cpu', retries=2)\n"
        "    def fit(self): return 1\n"
        "def plain(x=1): return x\n",
    )

    method = load_target("decorated_job.py:Trainer.fit")
    plain = load_target("decorated_job.py:plain")

    assert (method.function.__qualname__, method.options.retries, method.is_call) == ("Trainer.fit", 2, False)
    assert (plain.function(), plain.options, plain.is_call) == (1, RunOptions(), True)


def test_arguments_are_json(tmp_path: Path) -> None:
    write(tmp_path / "json_job.py", "def f(*args, **kwargs): return args, kwargs\ndef g(x): return x\n")

    call = load_target("json_job.py:f", "[1, null]", '{"a": [2]}')
    none = load_target("json_job.py:g", "[]")

    assert (call.args, call.kwargs, call.is_call) == ((1, None), {"a": [2]}, True)
    assert none.is_call


@pytest.mark.parametrize(("args", "kwargs"), [("{}", None), ("1,", None), (None, "[]"), ("[" * 100_000, None)])
def test_arguments_that_are_no_json_of_the_right_kind_are_refused(
    tmp_path: Path, args: str | None, kwargs: str | None
) -> None:
    write(tmp_path / "refused_job.py", "def f(): pass\n")

    with pytest.raises(UsageError, match="must be a JSON"):
        load_target("refused_job.py:f", args, kwargs)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("known_job.py", r"write FILE:FUNCTION"),
        (":f", r"write FILE:FUNCTION"),
        ("knwon_job.py:train", r"no file knwon_job.py. Did you mean 'known_job.py'\?"),
        ("nowhere/job.py:train", r"no file nowhere/job.py\.$"),
        (".:train", r"is a directory"),
        ("known_job.py:trian", r"Did you mean 'train'\? It defines: train, cached$"),
        ("known_job.py:Trainer.fti", r"Did you mean 'fit'\?"),
        ("known_job.py:LIMIT", r"is no function but 3 of type int"),
        ("known_job.py:Trainer", r"class"),
        ("known_job.py:cached", r"lru_cache|cache"),
        ("known_job:train", r"no file known_job\. Did you mean 'known_job\.py'\?"),
        ("deep.er.job:train", r"no file deep\.er\.job\. Did you mean 'deep/er/job\.py'\?"),
        ("known_job.py:guarded", r"Line 9 defines it, but not at the top level.*`if __name__ == \"__main__\":` runs"),
        ("known_job.py:inner", r"Line 12 defines it, but not at the top level"),
        ("known_job.py:fit", r"Did you mean 'Trainer\.fit'\?"),
        ("known_job.py:Trainer.guarded", r"has no function 'Trainer.guarded'\. It defines: fit$"),
    ],
)
def test_a_wrong_target_is_answered_with_what_would_be_right(tmp_path: Path, target: str, told: str) -> None:
    write(
        tmp_path / "known_job.py",
        "import functools\nfrom pathlib import Path\nLIMIT = 3\n"
        "def train(): pass\n"
        "class Trainer:\n    def fit(self): pass\n"
        "cached = functools.cache(lambda: 1)\n"
        "if __name__ == '__main__':\n    async def guarded(): pass\n    innermost = 3\n"
        "    def outer():\n        def inner(): pass\n",
    )
    write(tmp_path / "deep" / "er" / "job.py", "def train(): pass\n")

    with pytest.raises(UsageError, match=told):
        load_target(target)
