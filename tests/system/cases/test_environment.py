"""Section E of the known failure modes, and where values of variables must never be seen."""

import secrets
import subprocess
import sys

from tests.fakes.travelling_project import TravellingProject

JOB = """
    import glob, os, kinetic

    def visible():
        "Which process shows which value: in its command line, or in its environment as it was started."
        found = []
        for name in (*glob.glob("/proc/[0-9]*/cmdline"), *glob.glob("/proc/[0-9]*/environ")):
            try:
                content = open(name, "rb").read()
            except OSError:
                continue
            pid, run = int(name.split("/")[2]), os.environ["RUN"]
            found += [(name.rpartition("/")[2], value, pid == os.getpid(), pid == int(os.environ["CLIENT"]))
                      for value in ("app", "plain", "vault") if f"value-{value}-{run}".encode() in content]
        return found

    @kinetic.run(capture_env_vars=["APP_*", "PLAIN", "CLIENT", "ODD", "RUN"], secrets=["VAULT"])
    def f():
        values = [os.environ[name] for name in ("APP_TOKEN", "PLAIN", "VAULT")]
        return values, os.environb[b"ODD"], visible()

    @kinetic.run(capture_env_vars=["APP_*", "PLAIN"], secrets=["VAULT"])
    def fails(x):
        raise ValueError("no luck")
"""
CLIENT = """
    import json, os, threading, traceback, kinetic, job
    os.environb[b"ODD"] = b"\\xff\\n="
    os.environ["CLIENT"] = str(os.getpid())
    values, odd, seen = job.f()
    assert odd == b"\\xff\\n=", odd
    assert values == [os.environ[name] for name in ("APP_TOKEN", "PLAIN", "VAULT")]
    for argument in (1, threading.Lock()):
        try:
            job.fails(argument)
        except ValueError:
            traceback.print_exc()
    handle = job.fails.run_async(1)
    handle.wait()
    package = kinetic.package(job.f, (), directory="../artifacts")
    print(handle.to_dict(), handle, package, [*handle.events()], handle.logs())
    print(json.dumps(seen))
"""


def private() -> dict[str, str]:
    """Return variables whose values no other process on this machine has."""
    run = secrets.token_hex(8)
    return {"RUN": run, "APP_TOKEN": f"value-app-{run}", "PLAIN": f"value-plain-{run}", "VAULT": f"value-vault-{run}"}


def test_no_value_is_seen_outside_of_the_payload_and_the_functions_process(project: TravellingProject) -> None:
    project.write("job.py", JOB)
    values = private()
    ended = project.run(CLIENT, environ={**values, "KINETIC_LOG_LEVEL": "DEBUG"})
    assert [seen for seen in ended.said if not seen[3]] == [["environ", "vault", True, False]]
    assert "environment_captured" in ended.err
    private_values = [value for name, value in values.items() if name != "RUN"]
    assert [value for value in private_values if value in ended.out + ended.err] == []
    holders = {
        path.name
        for path in project.base.rglob("*")
        if path.is_file() and any(value.encode() in path.read_bytes() for value in private_values)
    }
    assert holders == {"payload.pkl"}
    assert not any(values["VAULT"].encode() in path.read_bytes() for path in project.base.rglob("payload.pkl"))


def test_the_payload_holds_the_captured_variables_and_the_output_directory(project: TravellingProject) -> None:
    project.write("job.py", "import kinetic\n@kinetic.run(capture_env_vars=['PLAIN', 'UNSET'])\ndef f(): pass\n")
    job_id = project.run("import job; print(job.f.run_async().job_id)", environ={"PLAIN": "taken"}).out.strip()
    (payload,) = project.store.glob(f"{job_id}/payload.pkl")
    raw = subprocess.run(
        [sys.executable, "-c", "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))['env_vars'])", payload],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert raw.strip() == repr({"PLAIN": "taken", "KINETIC_OUTPUT_DIR": f"file://{project.store}/outputs/{job_id}"})


def test_wildcards_leave_the_pods_own_variables_alone(project: TravellingProject) -> None:
    project.write(
        "job.py",
        """
        import os
        def f():
            return {name: os.environ.get(name) for name in ("LD_PRELOAD", "KERAS_BACKEND", "A*B", "AxB", "PATH")}
        """,
    )
    for names, taken in (
        ('["*"]', {"A*B": None, "AxB": "x", "KERAS_BACKEND": None}),
        ('["*", "KERAS_BACKEND"]', {"A*B": None, "AxB": "x", "KERAS_BACKEND": "hostile"}),
        ('["A*B", "KERAS_BACKEND", "A*"]', {"A*B": None, "AxB": "x", "KERAS_BACKEND": "hostile"}),
        ('["A*B"]', {"A*B": None, "AxB": None, "KERAS_BACKEND": None}),
    ):
        project.package(
            f"""
            import os, kinetic, job
            os.environ["LD_PRELOAD"] = "/hostile.so"
            kinetic.package(job.f, (), directory=os.environ["OUT"], capture_env_vars={names})
            """,
            environ={"KERAS_BACKEND": "hostile", "AxB": "x"},
        )
        value = project.run_by_hand()
        assert value.pop("LD_PRELOAD") is None
        assert value.pop("PATH") != "hostile"
        assert value == taken
        project.moved.rename(project.root)


def test_requirements_ship_for_prebuilt_images_only(project: TravellingProject) -> None:
    project.write("job.py", "def f(): pass\n")
    project.write("requirements.txt", "numpy  # fast\njax[cuda]>=0.4\n")
    said = project.run("""
        import json, os, kinetic, job
        bundled = kinetic.package(job.f, (), directory="../bundled")
        prebuilt = kinetic.package(job.f, (), directory="../prebuilt", container_image="prebuilt")
        print(json.dumps([sorted(os.listdir("../bundled")), prebuilt.requirements.path.read_text(),
                          [finding.code for finding in prebuilt.findings if finding.severity.name == "WARNING"]]))
    """).said
    assert said == [["context.zip", "payload.pkl"], "numpy\n", ["requirement_removed"]]
