"""A function goes out and its value, or its real error, comes home."""

import textwrap

import pytest

from tests.fakes.project import Project


def test_a_call_returns_the_value_of_another_process(project: Project) -> None:
    project.write(
        "job.py",
        """
        import os, kinetic
        @kinetic.run
        def where():
            return os.getpid(), os.getcwd()
        """,
    )
    ended = project.run("""
        import json, os, job
        pid, cwd = job.where()
        print(json.dumps([pid != os.getpid(), cwd != os.getcwd()]))
    """)
    assert ended.said == [True, True]


def test_a_call_streams_the_log_of_the_job(project: Project) -> None:
    ended = project.run("import train; train.double(4)")
    assert "doubling 4\n" in ended.out


def test_helpers_lazy_modules_and_files_by_relative_path_are_there(project: Project) -> None:
    project.write("src/pkg/__init__.py", "")
    project.write("src/pkg/late.py", "LATE = 'late'")
    project.write("configs/run.json", '{"rate": 3}')
    project.write(
        "src/pkg/job.py",
        """
        import json, pathlib, kinetic
        @kinetic.run
        def read():
            from pkg import late
            from . import late as relative
            return json.loads(pathlib.Path("configs/run.json").read_text())["rate"], late.LATE, relative.LATE
        """,
    )
    ended = project.run("""
        import sys; sys.path.insert(0, "src")
        import json
        from pkg.job import read
        print(json.dumps(read()))
    """)
    assert ended.said == [3, "late", "late"]


def test_an_exception_comes_home_as_itself_with_the_remote_traceback(project: Project) -> None:
    ended = project.run("""
        import json, helper, train
        try:
            train.fail("no luck")
        except helper.Mishap as error:
            print(json.dumps([str(error), "".join(error.__notes__)]))
    """)
    message, notes = ended.said
    assert message == "no luck"
    assert f'File "{project.root}/train.py", line 12, in fail' in notes


def test_a_wrong_call_fails_before_anything_is_packaged(project: Project) -> None:
    ended = project.run("import train; train.double()", fails=True)
    assert "TypeError" not in ended.out
    assert "double(x) cannot be called like this: missing a required argument: 'x'" in ended.err
    assert not project.store.exists()


def test_a_method_runs_with_its_instance(project: Project) -> None:
    project.write(
        "job.py",
        """
        import kinetic
        class Trainer:
            def __init__(self, rate):
                self.rate = rate
            @kinetic.run
            def fit(self, steps):
                return self.rate * steps
        """,
    )
    assert project.run("import job; print(job.Trainer(3).fit(steps=4))").said == 12


def test_a_decorated_function_passed_along_is_the_plain_function_on_the_pod(project: Project) -> None:
    project.write(
        "job.py",
        """
        import kinetic
        @kinetic.run
        def inner(x):
            return x + 1
        @kinetic.run
        def outer(f, x):
            return f(x), inner(x)
        """,
    )
    assert project.run("import json, job; print(json.dumps(job.outer(job.inner, 1)))").said == [2, 2]


def test_a_recursive_decorated_function_recurses_on_the_pod(project: Project) -> None:
    project.write(
        "job.py",
        """
        import kinetic
        @kinetic.run
        def factorial(n):
            return n * factorial(n - 1) if n else 1
        """,
    )
    assert project.run("import job; print(job.factorial(5))").said == 120


def test_a_script_that_is_main_and_imported_again_submits_once(project: Project) -> None:
    script = project.write(
        "job.py",
        """
        import kinetic
        @kinetic.run
        def f(x):
            import job as again
            return again.VALUE + x
        VALUE = 40
        print("value", f(2))
        """,
    )
    ended = project.run(f"""
        import runpy, sys
        sys.path[0] = {str(project.root)!r}
        runpy.run_path({str(script)!r}, run_name="__main__")
    """)
    assert ended.out.count("value 42") == 2  # here, and inline on the pod, where the import runs it again


def test_partials_carry_their_arguments(project: Project) -> None:
    ended = project.run("""
        import functools, kinetic, helper
        def add(a, b): return helper.twice(a) + b
        print(kinetic.run(functools.partial(add, 2))(b=5))
    """)
    assert ended.said == 9


def test_a_profile_and_variables_choose_backend_and_store(project: Project) -> None:
    store = project.base / "chosen"
    project.home.mkdir(parents=True)
    profiles = project.home / "profiles.json"
    profiles.write_text(
        textwrap.dedent(f"""
        {{"profiles": {{"mine": {{"backend": "local", "storage": "file://{store}"}}}}}}
        """)
    )
    environ = {"KINETIC_PROFILES_FILE": str(profiles), "KINETIC_PROFILE": "mine", "KINETIC_BACKEND": ""}
    ended = project.run("import train; print(train.double.run_async(2).storage)", environ=environ)
    assert ended.out.strip() == f"file://{store}"


def test_an_unknown_backend_names_those_that_are_installed(project: Project) -> None:
    ended = project.run("import train; train.double(1)", environ={"KINETIC_BACKEND": "locl"}, fails=True)
    assert "'local'" in ended.err.splitlines()[-1] or "local" in ended.err
    assert not project.store.exists()


def test_a_backend_that_nobody_named_is_told_with_the_one_of_this_machine(project: Project) -> None:
    code = "import kinetic; kinetic.run(accelerator='v5p-16')(lambda: 1)()"
    told = "accelerator='v5p-16' goes to 'pathways': backend='local' or KINETIC_BACKEND=local runs the job on this"
    assert told in project.run(code, environ={"KINETIC_BACKEND": ""}, fails=True).err
    assert told not in project.run(code, environ={"KINETIC_BACKEND": "pathways"}, fails=True).err


def test_what_a_backend_cannot_do_is_told_once_with_what_to_do_instead(project: Project) -> None:
    code = "import kinetic; kinetic.run(accelerator='cpu', backend='local', debug=True)(lambda: 1).run_async()"
    err = project.run(code, fails=True).err
    assert "the local backend cannot debug jobs yet; run the function with f.local(…)" in err
    assert "has no support for debug=" not in err


def test_a_backend_of_a_later_release_says_so_when_used(project: Project) -> None:
    ended = project.run("import train; train.double(1)", environ={"KINETIC_BACKEND": "pathways"}, fails=True)
    assert "pathways" in ended.err
    assert "kinetic-run" in ended.err


def test_what_the_ignore_file_keeps_from_the_pod_is_named_with_its_rule(project: Project) -> None:
    project.write(".kineticignore", "late*\nraw\n")
    project.write("late.py", "LATE = 1")
    project.write("raw/x.csv", "1")
    project.write(
        "job.py",
        """
        import kinetic
        @kinetic.run
        def missing(what):
            if what == "module":
                import late
            else:
                open("raw/x.csv")
        """,
    )
    ended = project.run("""
        import json, job
        told = []
        for what, error in (("module", ModuleNotFoundError), ("file", FileNotFoundError)):
            try:
                job.missing(what)
            except error as caught:
                told.append("".join(caught.__notes__))
        print(json.dumps(told))
    """)
    module, file = ended.said
    assert "late.py was kept out of the context by the rule late* (ignore-file)" in module
    assert "raw/ was kept out of the context by the rule raw (ignore-file)" in file


@pytest.mark.parametrize("closed", [(0,), (1,), (0, 1), (0, 1, 2)])
def test_a_client_whose_standard_streams_are_closed_gets_its_value(project: Project, closed: tuple[int, ...]) -> None:
    said = project.base / "said"
    project.run(
        f"""
        import os
        for number in {closed}:
            os.close(number)
        import pathlib, train
        pathlib.Path({str(said)!r}).write_text(str(train.double(2)))
        os._exit(0)
        """
    )
    assert said.read_text() == "4"
