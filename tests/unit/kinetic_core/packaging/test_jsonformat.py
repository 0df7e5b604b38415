import functools
import hashlib
import json
import math
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic_core.errors import PackagingError, SerializationError
from kinetic_core.packaging.call import Call
from kinetic_core.packaging.jsonformat import write_json_payload
from kinetic_core.wire.reference import Reference
from tests.unit.kinetic_core.packaging.projects import Project


@pytest.fixture
def job(project: Project) -> Any:
    project.write(
        {
            "job.py": """
                import functools

                def f(*args, **kwargs): pass

                def decorate(function):
                    @functools.wraps(function)
                    def wrapper(*args): return function(*args)
                    return wrapper

                @decorate
                def g(): pass

                class C:
                    @staticmethod
                    def s(): pass
                    def m(self): pass

                def outer():
                    def inner(): pass
                    return inner

                shadowed = f
                def shadowed(): pass
                original = shadowed
                def shadowed(): pass
            """
        }
    )
    return project.load("job")


def encode(project: Project, function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Write a call as JSON and read it."""
    return encode_call(project, project.call(function, *args, **kwargs))


def encode_call(project: Project, call: Call) -> dict[str, Any]:
    """Write a call as JSON and read it."""
    target = project.payload.with_suffix(".json")
    written = write_json_payload(call, target)
    content = target.read_bytes()
    assert written.artifact.path == target
    assert (written.artifact.size_bytes, written.artifact.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    raw: dict[str, Any] = json.loads(content)
    return raw


def test_a_call_is_written_with_the_function_by_name(project: Project, job: Any) -> None:
    raw = encode(project, job.f, 1, "a", 2.5, True, None, [1, (2, 3)], {"k": {"n": []}}, key="日本")
    assert raw["format"] == 1
    assert raw["func"] == {"module": "job", "qualname": "f", "file": None}
    assert raw["args"] == [1, "a", 2.5, True, None, [1, [2, 3]], {"k": {"n": []}}]
    assert raw["kwargs"] == {"key": "日本"}


def test_the_other_keys_are_those_of_the_pickled_payload(project: Project, job: Any) -> None:
    reference = Reference(uri="cache:00", is_dir=True, mount_path="/data", id="v")
    call = attrs.evolve(
        project.call(job.f, Reference(uri="cache:11", is_dir=False, id="r").to_dict()),
        env_vars={"A": "two\nlines \udcff"},
        data_ref_ids=("r",),
        volumes=(reference.to_dict(),),
    )
    raw = encode_call(project, call)
    assert raw["env_vars"] == {"A": "two\nlines \udcff"}
    assert (raw["has_data_refs"], raw["data_ref_ids"]) == (True, ["r"])
    assert raw["args"][0]["uri"] == "cache:11"
    assert raw["volumes"][0]["mount_path"] == "/data"
    assert (raw["working_dir"], raw["package_root"]) == (str(project.root), str(project.root))
    assert set(raw["client_fingerprint"]) == {"python", "kinetic"}
    project.package_call(call)
    assert set(project.loaded()) - {"modules_by_value"} == set(raw) - {"format"}


def test_an_empty_call_is_well_formed(project: Project, job: Any) -> None:
    raw = encode(project, job.f)
    assert (raw["args"], raw["kwargs"]) == ([], {})


def test_arguments_are_weighed(project: Project, job: Any) -> None:
    call = project.call(job.f, "x" * 10, key="y" * 100)
    components = write_json_payload(call, project.payload).components
    assert [(part.name, part.size_bytes) for part in components] == [
        ("keyword argument 'key'", 102),
        ("argument 0", 12),
    ]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({1, 2}, "argument 0 is a set"),
        (b"x", "argument 0 is a bytes"),
        ([1, {"a": object()}], "argument 0[1]['a'] is an object"),
        ({"a": {3: 1}}, "argument 0['a'] has the key 3"),
        (math.nan, "argument 0 is nan"),
        ([math.inf], "argument 0[0] is inf"),
        (Path("x"), "argument 0 is a PosixPath"),
    ],
)
def test_what_json_cannot_hold_is_refused_at_its_position(project: Project, job: Any, value: Any, place: str) -> None:
    with pytest.raises(SerializationError, match=re.escape(place)):
        encode(project, job.f, value)


def test_circular_and_deep_and_endless_values_are_refused(project: Project, job: Any) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(SerializationError, match=re.escape("argument 0[0] is a circular reference")):
        encode(project, job.f, cycle)
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    with pytest.raises(SerializationError, match="argument 1 as JSON: it is nested too deeply"):
        encode(project, job.f, 1, deep)
    with pytest.raises(SerializationError, match="keyword argument 'n' as JSON: it does not fit: Exceeds the limit"):
        encode(project, job.f, n=10**5000)


def test_all_refused_places_are_named_together(project: Project, job: Any) -> None:
    with pytest.raises(SerializationError, match=r"argument 0 is a set.*keyword argument 'b' is a bytes"):
        encode(project, job.f, {1}, 2, b=b"")
    assert not project.payload.with_suffix(".json").exists()


def test_functions_that_a_name_leads_to_are_described(project: Project, job: Any) -> None:
    assert encode(project, job.g)["func"]["qualname"] == "g"
    assert encode(project, job.g.__wrapped__)["func"]["qualname"] == "g"
    assert encode(project, job.C.s)["func"]["qualname"] == "C.s"
    assert encode(project, math.sqrt, 4)["func"] == {"module": "math", "qualname": "sqrt", "file": None}


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda job: lambda: 1, "it is a lambda, which has no name"),
        (lambda job: job.outer(), "it is defined inside outer"),
        (lambda job: functools.partial(job.f), "it is a functools.partial"),
        (lambda job: job.C().m, "it is a method bound to an object"),
        (lambda job: Callable_(), "it is a callable object of type Callable_"),
        (lambda job: job.original, "module 'job' has no 'shadowed' that is it"),
    ],
)
def test_a_function_that_no_name_leads_to_is_refused_with_reason_and_advice(
    project: Project, job: Any, make: Callable[[Any], Any], why: str
) -> None:
    with pytest.raises(SerializationError, match=re.escape(why)) as caught:
        encode(project, make(job))
    assert "or use serialization='pickle'" in str(caught.value)


def test_a_name_that_leads_to_wrappers_without_end_is_refused(project: Project, job: Any) -> None:
    class Endless:
        def __getattr__(self, name: str) -> Any:
            return Endless()

    function = job.f
    job.f = Endless()
    with pytest.raises(SerializationError, match="module 'job' has no 'f' that is it"):
        encode(project, function)


class Callable_:  # noqa: N801 - not the one of collections.abc
    """A callable instance."""

    def __call__(self) -> None:
        """Do nothing."""


MAIN = """
import sys
from pathlib import Path
from kinetic_core.errors import SerializationError
from kinetic_core.packaging.call import Call
from kinetic_core.packaging.plaincall import describe_function
from kinetic_core.wire.plan import Plan

def train(): pass

lost = train
def train(): pass

def describe(function):
    call = Call(function=function, working_dir="/", plan=Plan(package_root=ROOT), kinetic_version="0")
    try:
        print(describe_function(call, form="JSON"))
    except SerializationError as error:
        print(error)

if __name__ == "__main__":
    describe(train)
    describe(lost)
"""


def run_main(*command: str, root: Path, cwd: Path, stdin: str = "") -> list[str]:
    """Run a main script that describes two functions of its own; return what it printed."""
    source = str(Path(__file__).parents[4])
    ran = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": source, "ROOT": str(root)},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_a_function_of_the_main_script_is_found_by_its_file(tmp_path: Path) -> None:
    root = tmp_path / "proj"
    (root / "jobs").mkdir(parents=True)
    (root / "jobs/run.py").write_text(f"ROOT = {str(root)!r}\n{MAIN}")
    found, lost = run_main("jobs/run.py", root=root, cwd=root)
    assert found == str({"module": "__main__", "qualname": "train", "file": "jobs/run.py"})
    assert "the main script has no 'train' that is it" in lost


def test_a_script_outside_the_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(f"ROOT = {str(tmp_path / 'proj')!r}\n{MAIN}")
    refused, _ = run_main("run.py", root=tmp_path, cwd=tmp_path)
    assert "lies outside the package root" in refused


def test_a_module_that_runs_as_main_is_found_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/run.py").write_text(f"ROOT = {str(tmp_path)!r}\n{MAIN}")
    found, _ = run_main("-m", "jobs.run", root=tmp_path, cwd=tmp_path)
    assert found == str({"module": "jobs.run", "qualname": "train", "file": None})


def test_a_package_that_runs_as_main_is_found_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/__main__.py").write_text(f"ROOT = {str(tmp_path)!r}\n{MAIN}")
    found, _ = run_main("-m", "jobs", root=tmp_path, cwd=tmp_path)
    assert found == str({"module": "__main__", "qualname": "train", "file": "jobs/__main__.py"})


def test_what_was_typed_at_a_prompt_is_refused(tmp_path: Path) -> None:
    refused, _ = run_main("-", root=tmp_path, cwd=tmp_path, stdin=f"ROOT = {str(tmp_path)!r}\n{MAIN}")
    assert "it was typed into a notebook or a prompt, so no file holds it" in refused


@pytest.fixture
def as_main(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    def run(**namespace: Any) -> Any:
        module = project.load("job")
        main = type(sys)("__main__")
        vars(main).update(vars(module), __name__="__main__", **namespace)
        exec("def train(): pass", vars(main))
        monkeypatch.setitem(sys.modules, "__main__", main)
        return vars(main)["train"]

    return run


def test_the_main_script_is_told_by_its_namespace(project: Project, job: Any, as_main: Callable[..., Any]) -> None:
    spec = job.__spec__
    assert encode(project, as_main(__spec__=None))["func"]["file"] == "job.py"
    assert encode(project, as_main(__spec__=spec))["func"] == {"module": "job", "qualname": "train", "file": None}
    for file in (None, "<stdin>"):
        with pytest.raises(SerializationError, match="typed into a notebook or a prompt"):
            encode(project, as_main(__spec__=None, __file__=file))
    with pytest.raises(SerializationError, match="lies outside the package root"):
        encode(project, as_main(__spec__=None, __file__=__file__))
    train = as_main(__spec__=None)
    del vars(sys.modules["__main__"])["train"]
    with pytest.raises(SerializationError, match="the main script has no 'train' that is it"):
        encode(project, train)


def test_a_payload_that_cannot_be_written_leaves_nothing(
    project: Project, job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(PackagingError, match=r"cannot be written to .*No space left"):
        encode(project, job.f)
    assert list(project.payload.parent.iterdir()) == []


def test_the_script_runs_as_a_module_too(project: Project, tmp_path: Path) -> None:
    """The fixture's main script is no main script when it is imported: nothing is described then."""
    (tmp_path / "run.py").write_text(f"ROOT = ''\n{MAIN}")
    assert runpy.run_path(str(tmp_path / "run.py"))["ROOT"] == ""
