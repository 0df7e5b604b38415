"""Shipped code at run time: names of files, imports, shadowing, child processes, versions."""

import pickle
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from tests.system.runner.artifacts import CLIENT_ROOT, PLAN, ROOT, Bench, script

PYTHONS = {
    path.parents[1].name.rpartition(".")[0]: path
    for path in Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python")
}


def test_source_and_file_names_lead_to_the_shipped_file(bench: Bench) -> None:
    bench.define(
        "import inspect\nfrom pathlib import Path\n"
        "def g():\n    return 1  # the very line\n"
        "def f():\n"
        "    h = lambda: 2\n"
        "    return inspect.getsource(g), Path(__file__).parent == Path.cwd(), h.__code__.co_filename == __file__"
    )
    source, here, nested = bench.run().value
    assert source == "def g():\n    return 1  # the very line\n"
    assert here
    assert nested


def test_source_is_found_also_where_the_pickle_lost_the_name_of_the_file(bench: Bench) -> None:
    bench.define("import inspect\ndef f():\n    return inspect.getsource(inspect.currentframe().f_code)")
    write = bench.write

    def plainly() -> list[str]:
        import hashlib

        from tests.system.runner.artifacts import pickled

        arguments = write()
        payload = pickled(bench.payload, keep_files=False)
        bench.folder.joinpath("payload.pkl").write_bytes(payload)
        return [*arguments, "--payload-sha256", hashlib.sha256(payload).hexdigest()]

    bench.write = plainly  # type: ignore[method-assign]
    assert bench.run().value == "def f():\n    return inspect.getsource(inspect.currentframe().f_code)\n"


def test_a_file_that_did_not_ship_keeps_the_clients_name(bench: Bench) -> None:
    bench.define("def f():\n    return f.__code__.co_filename")
    bench.files.clear()
    assert bench.run().value == f"{CLIENT_ROOT}/train.py"


def test_code_in_a_result_names_the_clients_file(bench: Bench) -> None:
    bench.define("def f():\n    def inner(): return __file__\n    return inner")
    inner = bench.run().value
    assert isinstance(inner, FunctionType)
    assert inner.__code__.co_filename == f"{CLIENT_ROOT}/train.py"
    assert inner() == f"{CLIENT_ROOT}/train.py"


@pytest.mark.parametrize("layout", ["", "src/"])
def test_relative_imports_in_shipped_functions_work_in_both_layouts(bench: Bench, layout: str) -> None:
    bench.plan["sys_path_rel"] = ["", "src"] if layout else [""]
    bench.files |= {
        f"{layout}pkg/__init__.py": "",
        f"{layout}pkg/other.py": "VALUE = 42\n",
        f"{layout}pkg/x.txt": "beside",
    }
    source = (
        "from pathlib import Path\n"
        "def f():\n"
        "    from . import other\n"
        "    return other.VALUE, (Path(__file__).parent / 'x.txt').read_text()\n"
    )
    bench.files[f"{layout}pkg/mod.py"] = source
    namespace = script(source, f"{layout}pkg/mod.py", __package__="pkg")
    namespace["__name__"] = "pkg.mod"
    bench.payload = {"func": namespace["f"], "args": (), "kwargs": {}}
    assert bench.run().value == (42, "beside")


def test_a_submodule_of_the_project_is_reached_through_getattr(bench: Bench) -> None:
    bench.files |= {"pkg/__init__.py": "from . import sub\n", "pkg/sub.py": "V = 7\n"}
    bench.define("def f():\n    import pkg\n    return getattr(pkg, 'sub').V")
    assert bench.run().value == 7


def test_import_path_and_working_directory_are_the_clients(bench: Bench) -> None:
    bench.plan |= {"sys_path_rel": ["", "src", "lib.zip", "gone", "../up", "src"], "client_cwd_rel": "notebooks"}
    bench.files |= {"src/a.py": "", "notebooks/data.txt": "here", "lib.zip": b""}
    bench.define("import sys\ndef f():\n    return sys.path[:4], open('data.txt').read()")
    ran = bench.run("--workspace", str(bench.folder / "w"))
    (path, text) = ran.value
    workspace = bench.folder / "w"
    assert path[:3] == [str(workspace), str(workspace / "src"), str(workspace / "lib.zip")]
    assert path[3] not in path[:3]
    assert text == "here"
    assert "'gone' of the plan is not in the context" in ran.err
    assert "'../up' of the plan leads out of the workspace" in ran.err


@pytest.mark.parametrize(
    ("rel", "words"),
    [(None, "is outside of what was shipped"), ("gone", "was not shipped"), ("../..", "leads out of the workspace")],
)
def test_a_working_directory_that_is_not_there_is_the_root_with_a_warning(
    bench: Bench, rel: str | None, words: str
) -> None:
    bench.plan["client_cwd_rel"] = rel
    bench.define("import os\ndef f():\n    return os.getcwd()")
    ran = bench.run("--workspace", str(bench.folder / "w"))
    assert ran.value == str(bench.folder / "w")
    assert words in ran.err


def test_project_files_named_as_libraries_do_not_break_the_runner(bench: Bench) -> None:
    names = (
        "json",
        "cloudpickle",
        "structlog",
        "gcsfs",
        "fsspec",
        "pickle",
        "traceback",
        "zipfile",
        "asyncio",
        "shutil",
    )
    for name in names:
        bench.files[f"{name}.py"] = "raise RuntimeError('shadowed')\n"
    bench.define(
        "async def f(path):\n    return open(path).read()", "f", {"__data_ref__": True, "uri": "", "is_dir": False}
    )
    bench.folder.joinpath("data.txt").write_text("data")
    bench.payload["args"][0]["uri"] = bench.uri("data.txt")
    assert bench.run().value == "data"


POOL = """\
import multiprocessing as mp
def run(context, helper):
    with mp.get_context(context).Pool(2) as pool:
        return pool.map(helper, [1, 2])
"""


@pytest.mark.parametrize("context", ["spawn", "forkserver", "fork"])
def test_a_helper_of_the_project_that_came_by_value_works_in_a_pool(
    bench: Bench, context: str, short_temp: dict[str, str]
) -> None:
    work = "import os\ndef double(x):\n    return x * 2, os.path.basename(os.getcwd())\n"
    bench.files |= {"pkg/__init__.py": "", "pkg/work.py": work}
    double = script(work, "pkg/work.py")["double"]
    double.__module__ = "pkg.work"
    bench.define(f"{POOL}def f(helper):\n    return run({context!r}, helper)", "f", double)
    ran = bench.run("--workspace", str(bench.folder / "w"), env=short_temp)
    assert ran.value == [(2, "w"), (4, "w")]
    assert ran.err.count("artifact download") == 1


def test_a_helper_of_the_main_script_in_a_pool_fails_and_says_why(bench: Bench) -> None:
    bench.define(f"{POOL}def double(x):\n    return x * 2\ndef f():\n    return run('spawn', double)")
    ran = bench.run()
    assert "belongs to the main script" in str(ran.failure["exception"])
    assert ran.err.count("artifact download") == 1


def test_a_process_pool_executor_works_with_shipped_classes(bench: Bench) -> None:
    work = (
        "class Job:\n    def __init__(self, x): self.x = x\n    def __call__(self): return self.x + 1\n"
        "def call(job): return job()\n"
    )
    bench.files |= {"work.py": work}
    namespace = script(work, "work.py")
    namespace["Job"].__module__ = namespace["call"].__module__ = "work"
    source = (
        "def f(cls, call):\n"
        "    from concurrent.futures import ProcessPoolExecutor\n"
        "    import multiprocessing\n"
        "    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('spawn')) as pool:\n"
        "        return list(pool.map(call, [cls(1), cls(2)]))\n"
    )
    bench.define(source, "f", namespace["Job"], namespace["call"])
    assert bench.run().value == [2, 3]


def test_a_fork_that_returns_from_the_function_writes_no_record(bench: Bench) -> None:
    bench.define(
        "import os\n"
        "def f():\n"
        "    pid = os.fork()\n"
        "    if pid:\n"
        "        os.waitpid(pid, 0)\n"
        "        return 'parent'\n"
        "    return 'child'\n"
    )
    ran = bench.run()
    assert ran.value == "parent"
    assert ran.err.count("execute") == 1


def test_a_missing_module_of_the_project_is_explained(bench: Bench) -> None:
    bench.plan["excluded"] = {"always": 3, "ignore-file": 2}
    bench.payload = {"func": Gone("helper"), "args": (), "kwargs": {}, "modules_by_value": ["helper"]}
    exception = bench.run().failure["exception"]
    assert type(exception) is ModuleNotFoundError
    assert exception.name == "helper"
    text = str(exception)
    assert "module 'helper' is in neither the image nor the context" in text
    assert "code of it by value" in text
    assert "2 excluded at the client (ignore-file: 2)" in text


def test_a_missing_dependency_is_explained_with_the_clients_version(bench: Bench) -> None:
    fingerprint = {"python": "3.11.7", "distributions": {"no-such-distribution": "2.1", "cloudpickle": "3.0.0"}}
    bench.payload = {"func": Gone("nosuch.thing"), "args": (), "kwargs": {}, "client_fingerprint": fingerprint}
    failure = bench.run().failure
    assert failure["phase"] == "payload unpickle"
    assert "the client had installed what the image lacks: no-such-distribution 2.1" in str(failure["exception"])


class Gone:
    """Loads by importing a module that the pod does not have."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        import importlib

        return importlib.import_module, (self.name,)


class Broken:
    """Cannot be rebuilt."""

    def __reduce__(self) -> Any:
        return int, ("no number",)


def test_a_payload_that_does_not_load_names_both_sides(bench: Bench) -> None:
    client = {"python": "3.99.1", "cloudpickle": "0.1.0", "distributions": {"cloudpickle": "99.0"}}
    bench.payload = {"func": Broken(), "args": (), "kwargs": {}, "client_fingerprint": client}
    failure = bench.run().failure
    assert failure["phase"] == "payload unpickle"
    text = str(failure["exception"])
    assert f"client Python 3.99.1 / pod Python {sys.version.split()[0]}" in text
    assert "client cloudpickle 0.1.0 / pod cloudpickle" in text
    assert "client cloudpickle 99.0 / pod cloudpickle" in text
    assert "ValueError: invalid literal" in text


def test_without_skew_a_payload_that_does_not_load_fails_with_the_very_error(bench: Bench) -> None:
    bench.payload = {"func": Broken(), "args": (), "kwargs": {}}
    assert type(bench.run().failure["exception"]) is ValueError


@pytest.mark.parametrize("payload", [{"args": ()}, []])
def test_a_file_that_is_no_payload_is_said_to_be_none(bench: Bench, payload: Any) -> None:
    bench.payload = payload
    failure = bench.run().failure
    assert failure["phase"] == "payload unpickle"
    assert "the payload" in str(failure["exception"])


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_another_python_on_the_pod_is_told(bench: Bench, version: str, tmp_path: Path) -> None:
    if version not in PYTHONS or version == ".".join(map(str, sys.version_info[:2])):
        pytest.skip(f"no other Python {version} here")
    import cloudpickle

    library = tmp_path / "library"
    library.mkdir()
    library.joinpath("cloudpickle").symlink_to(Path(cloudpickle.__file__).parent)
    environ = {"PYTHONPATH": f"{ROOT}:{library}"}
    here = ".".join(map(str, sys.version_info[:3]))
    bench.payload = {"func": len, "args": ("abc",), "kwargs": {}, "client_fingerprint": {"python": here}}
    ran = bench.run(env=environ, python=str(PYTHONS[version]))
    assert ran.value == 3
    assert f"client Python {here} / pod Python {version}" in ran.err
    bench.payload["func"] = Broken()
    failed = bench.run(env=environ, python=str(PYTHONS[version]))
    assert f"client Python {here} / pod Python {version}" in str(failed.failure["exception"])


def test_an_exception_under_skew_carries_both_versions_as_a_note(bench: Bench) -> None:
    bench.define("def f():\n    open('missing.csv')")
    bench.plan["excluded"] = {"data": 1}
    bench.payload["client_fingerprint"] = {"cloudpickle": "0.1.0"}
    exception = bench.run().failure["exception"]
    assert type(exception) is FileNotFoundError
    notes = "\n".join(exception.__notes__)
    assert "client cloudpickle 0.1.0" in notes
    assert "1 excluded at the client (data: 1)" in notes


def test_the_working_directory_link_leads_to_the_workspace_and_is_removed(bench: Bench, tmp_path: Path) -> None:
    bench.link = True
    client_cwd = tmp_path / "client" / "deep"
    bench.files["data.txt"] = "through the link"
    bench.define("def f(path):\n    return open(path).read()", "f", str(client_cwd / "data.txt"))
    bench.payload["working_dir"] = str(client_cwd)
    assert bench.run().value == "through the link"
    assert not client_cwd.parent.exists()


def test_an_existing_working_directory_is_left_alone(bench: Bench, tmp_path: Path) -> None:
    bench.link = True
    bench.define("def f():\n    return 1")
    bench.payload["working_dir"] = str(tmp_path)
    assert bench.run().value == 1
    assert tmp_path.is_dir()


def test_no_link_is_made_where_the_backend_says_so(bench: Bench, tmp_path: Path) -> None:
    client_cwd = tmp_path / "client"
    bench.define("import os\ndef f(path):\n    return os.path.lexists(path)", "f", str(client_cwd))
    bench.payload["working_dir"] = str(client_cwd)
    assert bench.run().value is False


def test_the_record_needs_nothing_of_the_runner_to_be_read(bench: Bench) -> None:
    bench.plan = dict(PLAN)
    bench.files["../evil"] = "x"
    bench.define("def f():\n    return 1")
    bench.run()
    data = bench.folder.joinpath("result.pkl").read_bytes()
    assert b"kinetic_runner" not in pickle.dumps(pickle.loads(data)["exception"])
