"""Files of the project that are named as what the runner imports, early or late."""

import pytest

from tests.system.runner.artifacts import Bench

SHADOWS = (
    *(
        "_colorize",
        "argparse",
        "ast",
        "asyncio",
        "cloudpickle",
        "codecs",
        "concurrent",
        "contextlib",
        "copy",
        "copyreg",
    ),
    *("cryptography", "csv", "dataclasses", "email", "fsspec", "functools", "gcsfs", "google", "hashlib", "heapq"),
    *("importlib_metadata", "inspect", "json", "linecache", "locale", "logging", "mmap", "multiprocessing", "pathlib"),
    *(
        "pickle",
        "platform",
        "queue",
        "random",
        "re",
        "s3fs",
        "selectors",
        "shutil",
        "signal",
        "ssl",
        "string",
        "struct",
    ),
    *("structlog", "subprocess", "tempfile", "textwrap", "threading", "token", "tokenize", "traceback", "types"),
    *("typing", "unicodedata", "urllib", "uuid", "warnings", "zipfile", "zlib"),
)


@pytest.fixture(params=["module", "package"])
def shadowed(request: pytest.FixtureRequest, bench: Bench) -> Bench:
    """A project with a file, or a folder, under each of the names; none of them survives its import."""
    for name in SHADOWS:
        path = f"{name}.py" if request.param == "module" else f"{name}/__init__.py"
        bench.files[path] = f"raise RuntimeError('shadowed {name}')\n"
    return bench


def test_a_value_comes_home(shadowed: Bench) -> None:
    shadowed.define("async def f(x):\n    return x + 1", "f", 1)
    assert shadowed.run().value == 2


def test_an_exception_comes_home_with_its_traceback(shadowed: Bench) -> None:
    source = "def f(übung):\n    return [übung / n for n in (1, 0)] + ['日本']\n"
    shadowed.define(source, "f", 1)
    failure = shadowed.run().failure
    assert type(failure["exception"]) is ZeroDivisionError
    assert "return [übung / n for n in (1, 0)]" in failure["traceback"]
    assert "cannot be formatted" not in failure["traceback"]


@pytest.mark.parametrize("result", ["file", "local"])
def test_data_and_result_of_other_stores_than_local_ones_travel(shadowed: Bench, result: str) -> None:
    shadowed.folder.joinpath("a.txt").write_text("A")
    shadowed.folder.joinpath("a b.txt").write_text("B")
    remote = {"__data_ref__": True, "uri": f"local://{shadowed.folder}/a.txt", "is_dir": False}
    escaped = {"__data_ref__": True, "uri": shadowed.uri("a%20b.txt"), "is_dir": False}
    shadowed.define("def f(*paths):\n    return [open(path).read() for path in paths]", "f", remote, escaped)
    ran = shadowed.run("--result", f"{result}://{shadowed.folder}/result.pkl")
    assert ran.value == ["A", "B"]


def test_a_payload_that_does_not_load_is_explained(shadowed: Bench) -> None:
    class Gone:
        def __reduce__(self) -> tuple[object, ...]:
            return __import__, ("nosuch",)

    shadowed.payload = {"func": Gone(), "args": (), "kwargs": {}}
    shadowed.payload["client_fingerprint"] = {"python": "3.99", "distributions": {"no-such-thing": "2.1"}}
    exception = shadowed.run().failure["exception"]
    assert type(exception) is ModuleNotFoundError
    assert "no-such-thing 2.1" in str(exception)
