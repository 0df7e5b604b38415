"""Sections A, B and J of the known failure modes: what ships of a tree full of oddities, and what is left behind."""

import os
import stat
from pathlib import Path

import pytest

from tests.fakes.travelling_project import TravellingProject

LISTING = """
    import os
    def f():
        found = {}
        for folder, folders, files in os.walk("."):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as stream:
                    found[os.path.relpath(path)] = None if name == "plan.json" else stream.read()
            found.update({os.path.relpath(os.path.join(folder, name)) + "/": None for name in folders})
        return found, [path for path in found if os.path.islink(path)]
"""
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0"}
SHIP = 'import os, kinetic, job\nkinetic.package(job.f, (), directory=os.environ["OUT"])\n'


def shipped(project: TravellingProject, pod: dict[str, str] | None = None) -> dict[str, bytes | None]:
    """Return what the function sees, but for the plan, the code and the project file that every project has."""
    found, links = project.run_by_hand(environ=pod)
    assert links == []
    assert ".kinetic/plan.json" in found
    return {
        name: content for name, content in found.items() if not name.startswith((".kinetic/", "job.py", "pyproject"))
    }


def test_a_tree_full_of_oddities_ships_as_it_should(project: TravellingProject) -> None:
    outside = project.base / "outside"
    (outside / "data").mkdir(parents=True)
    (outside / "data" / "d.txt").write_text("d")
    (outside / "cfg.yaml").write_text("cfg")
    project.write("job.py", LISTING)
    project.write("pkg/__init__.py", "")
    project.write("naïve-日本.txt", "n")
    project.write("a\\b.txt", "backslash")
    project.write("line\nbreak.txt", "newline")
    project.write("tmp/kept.txt", "k")
    root = project.root
    (root / "empty").mkdir()
    (root / "cfg.yaml").symlink_to(outside / "cfg.yaml")
    (root / "data").symlink_to(outside / "data")
    (root / "aaa-alias").symlink_to("pkg")
    (root / "gone").symlink_to("nowhere")
    (root / "up").symlink_to("..")
    os.mkfifo(root / "pipe")
    Path(os.fsdecode(os.fsencode(root) + b"/bad\xff.txt")).touch()
    ended = project.package(SHIP, environ={"TMPDIR": str(root / "tmp")})
    assert shipped(project) == {
        "pkg/": None,
        "pkg/__init__.py": b"",
        "naïve-日本.txt": b"n",
        "a\\b.txt": b"backslash",
        "line\nbreak.txt": b"newline",
        "tmp/": None,
        "tmp/kept.txt": b"k",
        "empty/": None,
        "cfg.yaml": b"cfg",
        "data/": None,
        "data/d.txt": b"d",
    }
    warned = [line for line in ended.err.splitlines() if "skipped" in line]
    assert len(warned) == 5
    for name in ("aaa-alias/", "gone", "up/", "pipe", "bad\\xff.txt"):
        assert sum(f"'{name}'" in line for line in warned) == 1, name
    assert list((project.moved / "tmp").iterdir()) == [project.moved / "tmp" / "kept.txt"]


@pytest.mark.parametrize("pod", [{}, ASCII], ids=["utf-8", "ascii"])
def test_names_are_utf_8_also_where_the_locale_is_not(project: TravellingProject, pod: dict[str, str]) -> None:
    project.write("job.py", LISTING)
    project.write("naïve-日本.txt", "n")
    project.write("é/ü.txt", "u")
    project.write("é/ausgelassen-ß.log", "o")
    (project.root / "ñ").mkdir()
    project.write(".kineticignore", "*ß.log\n")
    (project.root / "lien-é").symlink_to("é/ü.txt")
    Path(os.fsdecode(os.fsencode(project.root) + b"/bad\xff.txt")).touch()
    ended = project.package(SHIP, environ=ASCII)
    (warned,) = [line for line in ended.err.splitlines() if "skipped" in line]
    assert "'bad\\xff.txt'" in warned
    there = {os.fsencode(name).decode(): content for name, content in shipped(project, pod).items()}
    assert there == {
        "naïve-日本.txt": b"n",
        "é/": None,
        "é/ü.txt": b"u",
        "ñ/": None,
        "lien-é": b"u",
        ".kineticignore": "*ß.log\n".encode(),
    }


def test_a_lone_star_ships_nothing_but_the_plan_and_the_job_runs(project: TravellingProject) -> None:
    project.write("job.py", LISTING)
    project.write("deep/er/file.txt", "x")
    project.write(".kineticignore", "*\n")
    project.package(SHIP)
    found, _ = project.run_by_hand()
    assert set(found) == {".kinetic/", ".kinetic/plan.json"}


def test_version_control_has_no_say_in_what_ships(project: TravellingProject) -> None:
    project.write("job.py", LISTING)
    project.write(".git/config", "secret")
    project.write("pkg/__pycache__/x.pyc", "")
    project.write("pkg/.gitignore", "*\n")
    project.write("pkg/.kineticignore", "*\n")
    project.write("sub/.env", "TOKEN=1")
    project.write("environment.py", "")
    project.write("x.pem", "")
    project.write("id_rsa.pub", "")
    project.write(".gitignore", "weights.bin\n")
    project.write("weights.bin", "w")
    project.write("kept # this", "")
    project.write("x # y", "")
    project.write(".kineticignore", "!weights.bin\nx # y\nid_rsa.pub\n")
    ended = project.package(SHIP, environ={"KINETIC_NO_DEFAULT_EXCLUDES": "1"})
    names = {name for name in shipped(project) if not name.endswith("/")}
    assert names == {
        *(".gitignore", ".kineticignore", "pkg/.gitignore", "pkg/.kineticignore", "sub/.env"),
        *("environment.py", "x.pem", "weights.bin", "kept # this"),
    }
    (warning,) = (line for line in ended.err.splitlines() if "secret" in line)
    assert "sub/.env, x.pem." in warning.replace("files that look like secrets ship with the job: ", "")
    assert "TOKEN=1" not in ended.err


def test_a_script_in_home_is_warned_of_and_a_marker_at_home_is_not_adopted(project: TravellingProject) -> None:
    home = project.home
    (home / "a/b").mkdir(parents=True)
    (home / ".git").mkdir()
    (home / ".cache").mkdir()
    for folder in (home, home / "a/b"):
        (folder / "job.py").write_text("import kinetic\ndef f(): pass\n")
    said = [
        project.run(f"""
        import json, os, sys
        sys.path[0] = {str(folder)!r}
        os.chdir({str(folder)!r})
        import kinetic, job
        package = kinetic.package(job.f, (), directory={str(project.artifacts)!r})
        print(json.dumps([str(package.root.path), [finding.code for finding in package.findings]]))
        """).said
        for folder in (home, home / "a/b")
    ]
    assert [path for path, _ in said] == [str(home), str(home / "a/b")]
    assert ["root_too_wide" in codes for _, codes in said] == [True, False]


def test_each_job_sees_the_project_as_it_was_when_submitted(project: TravellingProject) -> None:
    project.write(
        "job.py",
        """
        import pathlib, kinetic
        @kinetic.run
        def f():
            import helper
            kind = "directory" if pathlib.Path("x").is_dir() else "file"
            pathlib.Path("left-behind").touch()
            return helper.VALUE, kind, sorted(path.name for path in pathlib.Path().glob("left*"))
        """,
    )
    project.write("helper.py", "VALUE = 'old'\n")
    project.write("x/inside.txt", "")
    said = project.run("""
        import json, pathlib, shutil, job
        first = job.f.run_async()
        shutil.rmtree("x")
        pathlib.Path("x").write_text("now a file")
        pathlib.Path("helper.py").write_text("VALUE = 'new'\\n")
        second, third = job.f.run_async(), job.f.run_async()
        print(json.dumps([first.result(), second.result(), third.result()]))
    """).said
    new = ["new", "file", ["left-behind"]]
    assert said == [["old", "directory", ["left-behind"]], new, new]


def test_temporary_directories_are_private_and_gone_afterwards(project: TravellingProject) -> None:
    project.write(
        "job.py",
        """
        import os, pathlib, stat, kinetic
        @kinetic.run
        def f(*, fail=False):
            if fail:
                raise ValueError(fail)
            private = pathlib.Path.cwd().parent
            return private.name, stat.S_IMODE(private.stat().st_mode)
        """,
    )
    said = project.run("""
        import json, tempfile, os, stat, threading, job
        made = []
        real = tempfile.mkdtemp
        def watched(*args, **kwargs):
            made.append(real(*args, **kwargs))
            assert stat.S_IMODE(os.stat(made[-1]).st_mode) == 0o700
            return made[-1]
        tempfile.mkdtemp = watched
        names = [job.f()[0], job.f()[0]]
        modes = job.f()[1]
        for call in (lambda: job.f(fail=True), lambda: job.f(fail=threading.Lock())):
            try: call()
            except ValueError: pass
        print(json.dumps([len(set(names)), modes, len(made) == len(set(made)) >= 5]))
    """).said
    assert said == [2, stat.S_IRWXU, True]
    assert list(project.temp.iterdir()) == []


def test_artifacts_written_among_the_projects_own_files_hide_none_and_replace_none(project: TravellingProject) -> None:
    project.write("job.py", "def f(): pass\n")
    project.write("out/kept.txt", "")
    project.write("out/requirements.txt", "numpy\n")
    said = project.run("""
        import json, pathlib, kinetic, job
        kept = [[entry.name for entry in kinetic.package(job.f, (), directory="out").manifest.entries] for _ in "ab"]
        fresh = [[entry.name for entry in kinetic.package(job.f, (), directory="new").manifest.entries] for _ in "ab"]
        pathlib.Path("requirements.txt").write_text("numpy  # mine")
        try:
            kinetic.package(job.f, (), directory=".", container_image="prebuilt")
        except ValueError as error:
            refusal = str(error)
        print(json.dumps([kept, fresh[0] == fresh[1], refusal, pathlib.Path("requirements.txt").read_text()]))
    """).said
    ours = [".kinetic/plan.json", "job.py", "out/kept.txt", "out/requirements.txt", "pyproject.toml"]
    assert said[0] == [ours, ours]
    assert said[1] is True
    assert "would write over it" in said[2]
    assert said[3] == "numpy  # mine"
