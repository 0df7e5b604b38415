"""Section C of the known failure modes: what a call takes along, run where the project does not exist."""

import json

import pytest

from tests.fakes.travelling_project import TravellingProject

SHIP = 'import os, kinetic, job\nkinetic.package(job.f, (), directory=os.environ["OUT"])\n'
HELPERS = """
    import abc, dataclasses, enum, functools, typing

    class Colour(enum.Enum):
        RED = 1
        def is_red(self):
            return self is Colour.RED

    @dataclasses.dataclass(frozen=True, slots=True)
    class Point:
        x: int

    class Base(abc.ABC):
        def name(self):
            return "base"

    T = typing.TypeVar("T")

    class Derived(Base, typing.Generic[T]):
        def name(self):
            return "derived of " + super().name()

    class Bare:
        x = 1

    def helper():
        return helper.__code__.co_filename
"""
SOURCES = """
    def f():
        import inspect, pathlib
        sources = [inspect.getsource(what).split("\\n")[0].strip() for what in (helper, Derived, Bare, Colour)]
        classes = Colour.RED.is_red(), dataclasses.fields(Point)[0].name, Derived[int]().name()
        return sources, classes, helper() == __file__, pathlib.Path(__file__).is_file()
"""
WANTED = (["def helper():", "class Derived(Base, typing.Generic[T]):", "class Bare:", "class Colour(enum.Enum):"],)
EXPECTED = (*WANTED, (True, "x", "derived of base"), True, True)


@pytest.mark.parametrize("script", [None, "job.py"])
def test_source_of_functions_classes_and_modules_is_found_where_the_project_is_not(
    project: TravellingProject, script: str | None
) -> None:
    if script is None:
        project.write("job.py", HELPERS + SOURCES)
        project.package(SHIP)
    else:
        ship = "\n    import os, kinetic\n    kinetic.package(f, (), directory=os.environ['OUT'])\n"
        project.package(HELPERS + SOURCES + ship, script=script)
    assert project.run_by_hand() == EXPECTED


def test_source_of_a_class_that_alone_came_of_its_module_is_found(project: TravellingProject) -> None:
    project.write("pkg/__init__.py", "")
    project.write("pkg/shapes.py", "class Bare:\n    sides = 3\n")
    project.write(
        "job.py",
        """
        import inspect, sys
        from pkg.shapes import Bare
        def f():
            return Bare.sides, inspect.getsource(Bare), "pkg.shapes" in sys.modules
        """,
    )
    project.package(SHIP)
    assert project.run_by_hand() == (3, "class Bare:\n    sides = 3\n", False)


def test_a_package_as_an_object_leads_to_its_shipped_files(project: TravellingProject) -> None:
    project.write("pkg/__init__.py", "import threading\nLOCK = threading.Lock()\n")
    project.write("pkg/data.txt", "beside")
    project.write("pkg/late.py", "")
    project.write(
        "job.py",
        """
        import importlib.resources, inspect, pkgutil
        import pkg
        def f():
            text = importlib.resources.files(pkg).joinpath("data.txt").read_text()
            names = [module.name for module in pkgutil.iter_modules(pkg.__path__)]
            return text, names, inspect.getsource(pkg), pkg.__spec__.origin == pkg.__file__
        """,
    )
    project.package(SHIP)
    assert project.run_by_hand() == ("beside", ["late"], "import threading\nLOCK = threading.Lock()\n", True)


@pytest.mark.parametrize("file", ["<ipython-input-1-0123456789ab>", "/tmp/ipykernel_123/456.py", "<stdin>"])
def test_a_notebook_cell_runs_and_its_source_is_not_found(project: TravellingProject, file: str) -> None:
    cell = """
    import inspect
    class Counter:
        def __init__(self): self.n = 0
        def up(self):
            self.n += len(inspect.stack(0)) > 0
            return self.n
    def source(of):
        try:
            return inspect.getsource(of)
        except (OSError, TypeError) as error:
            return type(error).__name__
    def f():
        return Counter().up(), source(source), source(Counter)
    """
    said = project.package(f"""
        import json, os, sys, textwrap, kinetic
        exec(compile(textwrap.dedent({cell!r}), {file!r}, "exec"), sys.modules["__main__"].__dict__)
        package = kinetic.package(f, (), directory=os.environ["OUT"])
        print(json.dumps([str(package.root.path), [finding.code for finding in package.findings]]))
    """).said
    assert said[0] == str(project.root)
    assert "entry_without_source" in said[1]
    assert project.run_by_hand() == (1, "OSError", "OSError")


def test_code_made_by_exec_and_helpers_in_threads_travel(project: TravellingProject) -> None:
    project.write(
        "job.py",
        """
        from concurrent.futures import ThreadPoolExecutor
        namespace = globals()
        exec("def made(x):\\n    return x + OFFSET", namespace)
        OFFSET = 10
        def f():
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(made, range(3)))
        """,
    )
    project.package(SHIP)
    assert project.run_by_hand() == [10, 11, 12]


def test_threads_that_package_at_once_leave_the_users_registrations_as_they_are(project: TravellingProject) -> None:
    project.write("proj/pyproject.toml", "[project]\nname = 'inner'\nversion = '0'\ndependencies = []\n")
    project.write("proj/job.py", "import beside\ndef f(): return beside.g()")
    project.write("lib/beside.py", "def g(): return 'by value'")
    said = project.package("""
        import json, os, sys, threading
        sys.path[:0] = [os.path.abspath("lib"), os.path.abspath("proj")]
        import cloudpickle, kinetic, beside, job
        cloudpickle.register_pickle_by_value(beside)
        def ship(n):
            kinetic.package(beside.g, (), directory=f"{os.environ['OUT']}-{n}")
        threads = [threading.Thread(target=ship, args=(n,)) for n in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        kinetic.package(beside.g, (), directory=os.environ["OUT"])
        print(json.dumps(sorted(cloudpickle.list_registry_pickle_by_value())))
    """).said
    assert said == ["beside"]
    assert project.run_by_hand() == "by value"


def test_an_environment_in_the_project_stays_out_of_the_payload(project: TravellingProject) -> None:
    project.write(".venv/lib/python3/site-packages/heavy.py", "def weigh(): return 'imported'\nBALLAST = 'ballast'\n")
    project.write("job.py", "import heavy\nfrom heavy import weigh\ndef f(): return heavy.weigh(), weigh()")
    said = project.package("""
        import json, os, sys
        installed = os.path.abspath(".venv/lib/python3/site-packages")
        sys.path.append(installed)
        import kinetic, job
        package = kinetic.package(job.f, (), directory=os.environ["OUT"])
        names = [entry.name for entry in package.manifest.entries if "venv" in entry.name]
        print(json.dumps([package.modules_by_value, names, package.plan["sys_path_rel"]]))
    """).said
    assert said == [["job"], [], [""]]
    site = project.moved / ".venv/lib/python3/site-packages"
    assert project.run_by_hand(environ={"PYTHONPATH": str(site)}) == ("imported", "imported")


def test_another_process_collects_the_value_but_not_the_class(project: TravellingProject) -> None:
    project.write(
        "shapes.py",
        """
        class Registry:
            seen = []
            def __init_subclass__(cls):
                Registry.seen.append(cls.__name__)
        class Square(Registry):
            def __init__(self, side): self.side = side
        """,
    )
    project.write("job.py", "import kinetic, shapes\n@kinetic.run\ndef f(n): return shapes.Square(n)")
    first = project.run("""
        import json, job, shapes
        before = dict(vars(shapes.Square)), list(shapes.Registry.seen)
        handle = job.f.run_async(3)
        handle.wait()
        print(json.dumps(handle.job_id))
        value = handle.result(cleanup=False)
        assert type(value) is shapes.Square, type(value)
        assert (dict(vars(shapes.Square)), shapes.Registry.seen) == before
    """)
    job_id = json.loads(first.out.splitlines()[0])
    said = project.run(f"""
        import json, kinetic, shapes
        value = kinetic.attach({job_id!r}).result()
        names = type(value).__module__, type(value).__qualname__
        print(json.dumps([value.side, names, isinstance(value, shapes.Square), shapes.Registry.seen]))
    """).said
    assert said == [3, ["shapes", "Square"], False, ["Square"]]


def test_a_large_captured_global_is_named(project: TravellingProject) -> None:
    project.write("job.py", "TABLE = bytes(3_000_000)\ndef f(): return len(TABLE)")
    ended = project.package(SHIP, environ={"KINETIC_PAYLOAD_SIZE_WARN_MB": "2"})
    assert "global 'TABLE' of module job (2.9 MB)" in ended.err
    assert project.package(SHIP, environ={"KINETIC_PAYLOAD_SIZE_WARN_MB": "0"}).err == ""
    ended = project.package(SHIP, environ={"KINETIC_PAYLOAD_SIZE_WARN_MB": "abc"})
    assert "KINETIC_PAYLOAD_SIZE_WARN_MB='abc'" in ended.err
