"""The JSON format: no pickle in either direction."""

from tests.fakes.project import Project

PLAIN = """
    import kinetic
    @kinetic.run(serialization="json", allowed_serialization=["json"])
    def plain(a, b=None):
        return {"a": a, "b": b, "pair": (1, 2)}
    @kinetic.run(serialization="json")
    def fail():
        raise KeyError("gone")
    @kinetic.run(serialization="json")
    def odd():
        return {1, 2}
    @kinetic.run(serialization="json")
    def read(data):
        return open(data).read()
"""


def test_a_call_travels_without_any_pickle(project: Project) -> None:
    project.write("job.py", PLAIN)
    ended = project.run("""
        import json, job
        handle = job.plain.run_async([1, (2, None)], b=1.5)
        print(json.dumps(handle.result(cleanup=False)))
    """)
    assert ended.said == {"a": [1, [2, None]], "b": 1.5, "pair": [1, 2]}
    assert [name for name in project.stored() if name.endswith(".pkl")] == []


def test_a_result_that_json_cannot_hold_fails_with_its_text(project: Project) -> None:
    project.write("job.py", PLAIN)
    assert "{1, 2}" in project.run("import job; job.odd()", fails=True).err


def test_an_exception_comes_home_as_a_remote_error_with_its_name(project: Project) -> None:
    project.write("job.py", PLAIN)
    ended = project.run("""
        import json, job, kinetic
        try:
            job.fail()
        except kinetic.RemoteError as error:
            print(json.dumps([str(error), "".join(error.__notes__)]))
    """)
    message, notes = ended.said
    assert message == "KeyError: 'gone'"
    assert f'File "{project.root}/job.py"' in notes


def test_data_travels_in_json_too(project: Project) -> None:
    project.write("job.py", PLAIN)
    project.write("notes.txt", "hello")
    assert (
        project.run("import json, job, kinetic; print(json.dumps(job.read(kinetic.Data('notes.txt'))))").said == "hello"
    )


def test_a_pickle_that_somebody_put_into_the_store_is_never_opened(project: Project) -> None:
    project.write("job.py", PLAIN)
    project.write(
        "attack.py",
        """
        import pathlib, pickle, sys
        class Evil:
            def __reduce__(self):
                return pathlib.Path(sys.argv[0]).with_name("pwned").touch, ()
        def spread(folder):
            for name in ("result.pkl", "result.json", "result-worker-1.pkl"):
                (folder / name).write_bytes(pickle.dumps(Evil()))
        """,
    )
    ended = project.run(
        """
        import pathlib, job, attack, kinetic
        handle = job.plain.run_async(1)
        handle.wait()
        store = pathlib.Path(handle.storage.removeprefix("file://"))
        attack.spread(store / handle.job_id)
        try:
            handle.result()
        except kinetic.ResultUnavailableError as error:
            print("said", error)
        """
    )
    assert "result.json is incomplete, damaged or no JSON" in ended.out
    assert not list(project.base.rglob("pwned"))


def test_a_format_that_is_not_allowed_is_refused_before_anything_is_uploaded(project: Project) -> None:
    project.write("job.py", PLAIN)
    ended = project.run(
        """
        import job, kinetic
        @kinetic.run(allowed_serialization=["json"])
        def f():
            return 1
        other = f.options(serialization="json", allowed_serialization=["pickle"])
        for call in (f, other, f.options(serialization="xml")):
            try:
                call()
            except ValueError as error:
                print(error)
        """,
        environ={"KINETIC_ALLOWED_SERIALIZATION": "xml"},
    )
    first, second, third = ended.out.splitlines()
    assert first == "Serialization format 'pickle' not allowed. Allowed formats: ['json']"
    assert second == "Serialization format 'json' not allowed. Allowed formats: ['pickle']"
    assert "'xml'" in third
    assert "json, pickle" in third
    assert not project.store.exists()


def test_a_client_that_opens_json_alone_opens_no_pickle_whatever_a_stored_handle_says(project: Project) -> None:
    project.write("job.py", PLAIN)
    ended = project.run(
        """
        import json, pathlib, pickle, sys, job, kinetic
        class Evil:
            def __reduce__(self):
                return pathlib.Path("pwned").touch, ()
        handle = job.plain.run_async(1)
        handle.wait()
        folder = pathlib.Path(handle.storage.removeprefix("file://"), handle.job_id)
        (folder / "result.pkl").write_bytes(pickle.dumps({"success": True, "result": Evil()}))
        raw = handle.to_dict() | {"result": "result.pkl"}
        (folder / "handle.json").write_text(json.dumps(raw))
        for attached in (kinetic.attach(handle.job_id), kinetic.JobHandle.from_dict(raw)):
            try:
                attached.result()
            except kinetic.ResultUnavailableError as error:
                print("said", error)
        print("value", handle.result()["a"])
        """,
        environ={"KINETIC_ALLOWED_SERIALIZATION": "json"},
    )
    assert ended.out.count("Serialization format 'pickle' not allowed. Allowed formats: ['json']") == 2
    assert "value 1" in ended.out
    assert not list(project.base.rglob("pwned"))


def test_a_function_of_the_main_script_is_found_by_its_file(project: Project) -> None:
    script = project.write(
        "main.py",
        """
        import json, kinetic
        @kinetic.run(serialization="json")
        def f(x):
            return x + 1
        if __name__ == "__main__":
            print(json.dumps(f(1)))
        """,
    )
    ended = project.run(f"""
        import subprocess, sys
        print(subprocess.run([sys.executable, {str(script)!r}], capture_output=True, text=True, check=True).stdout)
    """)
    assert ended.out.split()[-1] == "2"
