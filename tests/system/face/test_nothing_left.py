"""A submit that fails leaves nothing; the user's project is never written to."""

import hashlib

import pytest

from tests.fakes.project import Project

UNPICKLABLE = "import threading, train; train.double(threading.Lock())"
MISSING_DATA = "import kinetic, train; train.double(kinetic.Data('absent'))"
DATA_IN_SET = "import kinetic, train; train.double({kinetic.Data('helper.py')})"
UNSET_SECRET = "import train; train.double.options(secrets=['NOT_SET'])(1)"
DISALLOWED = "import train; train.double.options(allowed_serialization=['json'])(1)"
UNKNOWN_FORMAT = "import train; train.double.options(serialization='xml')(1)"
PROCESS_LOCAL = "import train; train.double.options(storage='memory://here')(1)"
FILE_AS_STORE = "import train; train.double.options(storage='file:///etc/passwd')(1)"
UNKNOWN_SCHEME = "import train; train.double.options(storage='fiel:///x')(1)"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (UNPICKLABLE, "kinetic could not serialize argument 0 (type lock): "),
        (MISSING_DATA, "absent"),
        (DATA_IN_SET, "arg 0"),
        (UNSET_SECRET, "NOT_SET"),
        (DISALLOWED, "Serialization format 'pickle' not allowed. Allowed formats: ['json']"),
        (UNKNOWN_FORMAT, "'xml'"),
        (PROCESS_LOCAL, "memory://"),
        (FILE_AS_STORE, "the store file:///etc/passwd cannot be used, at the step 'write'"),
        (UNKNOWN_SCHEME, "fiel"),
    ],
)
def test_a_submit_that_fails_leaves_nothing_behind(project: Project, code: str, said: str) -> None:
    project.root.mkdir(exist_ok=True)
    before = project.tree()
    ended = project.run(code, fails=True)
    assert said in ended.err
    assert not project.store.exists() or project.stored() == []
    assert list(project.temp.iterdir()) == []
    assert project.tree() == before


BREAKING_BACKEND = """
    from kinetic_core.plugin import BackendDriver, hookimpl

    class Backend:
        def preflight(self, request): return ()
        def default_storage(self, options): return "file://" + options.labels["store"]
        def submit(self, spec):
            context = spec.context.url.removeprefix(spec.job_url)
            raise RuntimeError(f"the cluster is on fire, with {context} and {len(spec.context.layers)} layers")
        def find(self): return iter(())

    @hookimpl
    def kinetic_backend_drivers():
        return [BackendDriver(name="burning", open=lambda context: Backend())]
"""


def test_a_backend_that_refuses_leaves_no_artifact_and_no_data(project: Project) -> None:
    site = project.base / "site"
    info = site / "burning-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: burning\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kinetic]\nburning = burning_plugin\n")
    import textwrap

    (site / "burning_plugin.py").write_text(textwrap.dedent(BREAKING_BACKEND))
    store = project.base / "store"
    ended = project.run(
        f"""
        import sys; sys.path.insert(0, {str(site)!r})
        import kinetic, train
        train.double.options(backend="burning", labels={{"store": {str(store)!r}}})(kinetic.Data("helper.py"))
        """,
        fails=True,
    )
    assert "the submission failed at the step 'submit': RuntimeError: the cluster is on fire" in ended.err
    # It does not announce layers, so its runner finds one archive where others expect it.
    assert "on fire, with /context.zip and 0 layers" in ended.err
    assert [path for path in store.rglob("*") if path.is_file()] == []
    assert list(project.temp.iterdir()) == []


def test_a_local_submit_that_fails_late_leaves_a_whole_context_and_nothing_else(project: Project) -> None:
    ended = project.run(
        """
        import kinetic_local.backend, train
        def refuse(self, spec): raise RuntimeError("no room")
        kinetic_local.backend.LocalBackend.submit = refuse
        train.double(1)
        """,
        fails=True,
    )
    assert "the submission failed at the step 'submit': RuntimeError: no room" in ended.err
    assert project.stored_of_jobs() == []
    (left,) = project.stored()
    assert hashlib.sha256((project.store / left).read_bytes()).hexdigest() == left.split("/")[-2]


def test_a_job_that_runs_leaves_the_project_as_it_was(project: Project) -> None:
    before = project.tree()
    project.run("import train; train.double(1)")
    assert project.tree() == before
    assert list(project.temp.iterdir()) == []


def test_a_store_inside_the_project_never_ships(project: Project) -> None:
    store = project.root / "store"
    environ = {"KINETIC_STORAGE": f"file://{store}"}
    ended = project.run("import train, kinetic\nfor _ in range(2): train.double.run_async(1).wait()", environ=environ)
    assert "SUCCEEDED" not in ended.out
    # One context for both: the second archive is the first, byte for byte.
    assert len(list(store.rglob("context.zip"))) == 1
    assert list(store.rglob("*.layer")) == []


def test_what_package_takes_is_checked_first(project: Project) -> None:
    ended = project.run(
        """
        import json, kinetic, helper
        told = []
        for keywords in ({"args": 3}, {"args": "ab"}, {"kwargs": 3}, {"directory": None}, {"directory": "/proc/x"}):
            try:
                kinetic.package(helper.twice, **{"args": (1,), "directory": "out", **keywords})
            except kinetic.KineticError as error:
                told.append(str(error))
        print(json.dumps(told))
        """
    )
    args, text, kwargs, directory, unmade = ended.said
    assert (args, text) == (
        "args must be a tuple or list of positional arguments, got 3; write (3,)",
        "args must be a tuple or list of positional arguments, got 'ab'; write ('ab',)",
    )
    assert "kwargs must be a dict" in kwargs
    assert "directory must be a path, got None" in directory
    assert "/proc/x for the artifacts cannot be made" in unmade
