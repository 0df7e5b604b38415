"""What a call costs: counts of what it asks of the store and of what it imports, never of seconds."""

import sys

import pytest

from tests.fakes.project import Project

COUNTED = """
import json, re
from collections import Counter
from kinetic_fsspec.file import FileStorage
import train

asked = Counter()

def counting(name, at):
    method = getattr(FileStorage, name)
    def count(storage, *args, **kwargs):
        key = re.sub("job-[0-9a-f]{8}", "JOB", args[at])
        asked[f"{name} {'cache' if key.startswith('cache/') else key}"] += 1
        return method(storage, *args, **kwargs)
    setattr(FileStorage, name, count)

train.double(1)
for name, at in (("put_bytes", 1), ("put_if_absent", 1), ("get_file", 0), ("get_bytes", 0), ("exists", 0),
                 ("list", 0), ("delete_prefix", 0)):
    counting(name, at)
train.double(2)
print(json.dumps(asked))
"""


def test_a_later_call_asks_little_of_its_store(project: Project) -> None:
    assert project.run(COUNTED).said == {
        "list cache": 1,  # whether the context is there
        "put_bytes JOB/handle.json": 1,
        "put_bytes jobs/JOB": 2,  # the pointer, and the tombstone in its place
        "list JOB": 1,
        "put_if_absent JOB/collected": 1,
        "get_bytes jobs/JOB": 1,  # whether another has collected it
        "delete_prefix JOB": 1,
    }


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a job's processes are new ones")
def test_what_only_some_projects_need_is_not_imported(project: Project) -> None:
    (project.root / "pyproject.toml").unlink()
    code = """
    import json, sys
    import train
    train.double(1)
    heavy = ("multiprocessing", "packaging", "pickletools", "subprocess", "tomllib")
    print(json.dumps([name for name in heavy if name in sys.modules]))
    """
    assert project.run(code).said == []


def test_a_local_jobs_processes_start_before_what_packs_is_imported(project: Project) -> None:
    code = """
    import json, sys
    from kinetic_local.reserve import Standby
    import train
    started = Standby.__init__
    def watched(standby, *args):
        seen.append("kinetic.submission.prepare" in sys.modules)
        started(standby, *args)
    Standby.__init__, seen = watched, []
    train.double(1)
    print(json.dumps(seen))
    """
    assert project.run(code).said == ([False] if sys.platform == "linux" else [])


def test_the_log_of_a_job_that_ends_soon_is_shown_without_a_thread(project: Project) -> None:
    code = """
    import threading
    from kinetic.jobs import handle
    import train
    begun, start = [], threading.Thread.start
    def counted(thread):
        begun.append(thread.name[:11])
        start(thread)
    train.talk()
    threading.Thread.start = counted
    handle._SOON_S = 60.0
    train.talk()
    print(begun)
    handle._SOON_S = 0.0
    train.talk()
    print(begun)
    """
    project.write("train.py", "import kinetic\n@kinetic.run\ndef talk():\n    print('a')\n")
    assert project.run(code).out.splitlines() == ["a", "a", "[]", "a", "['kinetic-log']"]


def test_a_status_is_told_once_though_its_events_begin_anew(project: Project) -> None:
    project.write("talk.py", "import kinetic\n@kinetic.run\ndef talk(s):\n    import time\n    time.sleep(s)\n")
    code = """
    import json
    from kinetic.jobs import handle
    import talk
    handle._SOON_S, told = 0.01, []
    talk.talk.run_async(0.3).result(stream_logs=True, on_status_change=lambda status: told.append(str(status)))
    print(json.dumps(told))
    """
    assert project.run(code).said == ["PENDING", "RUNNING", "SUCCEEDED"]
