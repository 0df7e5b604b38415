"""Section D of the known failure modes: `Data` and its lookalikes among the arguments of real jobs."""

from tests.fakes.travelling_project import TravellingProject

JOB = """
    import functools, pathlib
    from collections import deque
    import kinetic

    def text(path):
        return pathlib.Path(path).read_text()

    class Holder:
        def __init__(self, data):
            self.data = data

        @kinetic.run
        def read(self):
            return type(self.data).__name__, self.data.path

    @kinetic.run
    def read(path, *more, **named):
        return [text(path), *map(text, more), *(text(named[name]) for name in named)]

    @kinetic.run
    def echo(*values):
        return values

    @kinetic.run
    def shapes(nested):
        a, b = nested["a"], nested["b"]
        return a is b[0], a == nested["c"], nested["loop"]["self"] is nested, text(a)

    @kinetic.run
    def seen(paths):
        return sorted(str(path) for path in pathlib.Path().rglob("*") if path.is_file()), text(paths[0])
"""


def refusals(project: TravellingProject, *calls: str) -> list[str]:
    """Return the message with which each call is refused, checking that none left anything in the store."""
    project.write("job.py", JOB)
    project.write("data.txt", "D")
    lines = "\n".join(f"refused(lambda: {call})" for call in calls)
    said: list[str] = project.run(
        "import functools, json, kinetic, job\n"
        "messages = []\n"
        "def refused(call):\n"
        "    try:\n"
        "        call()\n"
        "    except ValueError as error:\n"
        "        messages.append(str(error))\n"
        "D = kinetic.Data('data.txt')\n"
        f"{lines}\n"
        "print(json.dumps(messages))\n"
    ).said
    assert len(said) == len(calls)
    assert not project.store.exists() or project.stored() == []
    return said


def test_data_in_odd_places_is_resolved_refused_or_left_alone(project: TravellingProject) -> None:
    project.write("job.py", JOB)
    project.write("data.txt", "D")
    said = project.run("""
        import functools, json, os, kinetic, job
        D = kinetic.Data("data.txt")
        partial = kinetic.run(functools.partial(job.read.function, D, more=D))
        print(json.dumps([partial(), job.Holder(D).read(), os.path.abspath("data.txt")]))
    """).said
    path = str(project.root / "data.txt")
    assert said == [["D", "D"], ["Data", path], path]
    assert [name for name in project.stored() if name.startswith("cache/")] != []


def test_data_that_a_function_captures_is_refused_by_name(project: TravellingProject) -> None:
    project.write("data.txt", "D")
    project.write(
        "captures.py",
        """
        import kinetic
        D = kinetic.Data("data.txt")
        @kinetic.run
        def default(path=D): return path
        @kinetic.run
        def reads(): return D
        def make():
            inner = kinetic.Data("data.txt")
            @kinetic.run
            def closed(): return inner
            return closed
        """,
    )
    messages = refusals(project, *(f"__import__('captures').{call}" for call in ("default()", "reads()", "make()()")))
    for message, words in zip(
        messages, ("default value 'path'", "global 'D' of module captures", "closure variable 'inner'"), strict=True
    ):
        assert words in message


def test_a_lookalike_of_a_reference_arrives_unchanged(project: TravellingProject) -> None:
    project.write("job.py", JOB)
    project.write("data.txt", "D")
    said = project.run("""
        import json, kinetic, job
        fake = {"__data_ref__": True, "uri": "file:///nowhere", "is_dir": False, "mount_path": None, "fuse": False}
        alone = job.echo(fake, [fake])
        beside = job.echo(fake, {"x": {**fake, "id": "0123456789abcdef"}}, kinetic.Data("data.txt"))
        print(json.dumps([alone[0] == fake, alone[1][0] is alone[0], beside[0] == fake, beside[1]["x"]["id"]]))
    """).said
    assert said == [True, True, True, "0123456789abcdef"]


def test_the_same_data_twice_is_one_upload_and_one_path(project: TravellingProject) -> None:
    project.write("job.py", JOB)
    project.write("data.txt", "D")
    said = project.run("""
        import json, kinetic, job
        D, same = kinetic.Data("data.txt"), kinetic.Data("data.txt")
        nested = {"a": D, "b": [D], "c": same, "loop": {}}
        nested["loop"]["self"] = nested
        print(json.dumps(job.shapes(nested)))
    """).said
    assert said == [True, True, True, "D"]
    assert len([name for name in project.stored() if name.endswith("/data.txt")]) == 1


def test_data_of_arguments_and_volumes_stay_out_of_the_archive(project: TravellingProject) -> None:
    project.write("job.py", JOB)
    for name in ("data/a.txt", "data2/a.txt", "data.py", "mounted/m.txt"):
        project.write(name, name)
    (project.root / "link").symlink_to("data")
    said = project.run("""
        import json, kinetic, job
        call = job.seen.options(volumes={"/mnt/m": kinetic.Data("mounted")})
        print(json.dumps(call([kinetic.Data("link/a.txt")])))
    """).said
    assert said[1] == "data/a.txt"
    assert said[0] == [".kinetic/plan.json", "data.py", "data2/a.txt", "job.py", "pyproject.toml"]


def test_positions_that_nothing_can_take_are_refused_and_nothing_is_left(project: TravellingProject) -> None:
    in_set, in_key, frozen = refusals(
        project, "job.echo([{D}])", "job.echo(1, {(D, 1): 2})", "job.read('x', deep={'a': [frozenset({D})]})"
    )
    assert "arg 0[0]" in in_set
    assert "arg 1" in in_key
    assert "kwarg 'deep'['a'][0]" in frozen


def test_what_is_nested_too_deeply_is_refused_by_position_and_leaves_nothing(project: TravellingProject) -> None:
    deep = "functools.reduce(lambda inner, _: [inner], range(20_000), [])"
    for message in refusals(project, f"job.echo(1, {deep})", f"job.echo(D, {deep})"):
        assert message.startswith("kinetic could not serialize argument 1 (type list): it is nested too deeply")
