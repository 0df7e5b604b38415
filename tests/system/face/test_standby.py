"""The standby of the local backend: no job can tell its processes from new ones, and none of them stays."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.project import Project
from tests.fakes.scripted_runner import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has what a standby needs")

LOOK = """
import kinetic

def masked(text):
    import os
    for secret in (os.environ["KINETIC_JOB_ID"], os.environ["TMPDIR"].removesuffix("/temporary")):
        text = text.replace(secret, "<own>")
    return text if "/look-" not in text else text.partition("/look-")[0]

@kinetic.run
def look():
    import faulthandler, gc, os, resource, signal, sys, threading
    numbers = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    status = open("/proc/self/status").read().splitlines()
    main = sys.modules["__main__"]
    descriptors = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            descriptors[name] = masked(os.readlink(f"/proc/self/fd/{name}").partition("[")[0])
        except FileNotFoundError:
            pass
    return {
        "modules": sorted(sys.modules),
        "path": [masked(entry) for entry in sys.path],
        "meta_path": [repr(type(one)) for one in sys.meta_path],
        "argv": [masked(word) for word in sys.argv if len(word) != 64],
        "orig_argv": [masked(word) for word in sys.orig_argv if len(word) != 64],
        "flags": [repr(sys.flags), sys.warnoptions, sys._xoptions],
        "environ": {name: masked(value) for name, value in os.environ.items()},
        "cwd": masked(os.getcwd()),
        "status": [line for line in status if line.split(":")[0] in ("Umask", "SigBlk", "SigIgn", "SigCgt", "Groups")],
        "handlers": {int(one): repr(signal.getsignal(one)).partition(" at ")[0] for one in signal.valid_signals()},
        "descriptors": sorted(descriptors.values()),
        "leads_its_group": os.getpgrp() == os.getpid(),
        "leads_no_session": os.getsid(0) != os.getpid(),
        "streams": [
            [one.name, one.mode, one.encoding, one.errors, one.write_through, one.line_buffering, one.isatty()]
            for one in (sys.stdin, sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
        ],
        "main": [main.__name__, main.__spec__.name, main.__file__, main.__package__],
        "threads": threading.active_count(),
        "is_main": threading.current_thread() is threading.main_thread(),
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in numbers},
        "nice": os.nice(0),
        "cores": sorted(os.sched_getaffinity(0)),
        "collector": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count() > 0],
        "crashes_told": faulthandler.is_enabled(),
    }

@kinetic.run
def who():
    import os, sys
    import helper
    helper.calls = getattr(helper, "calls", 0) + 1
    ahead = "stand_by" in open("/proc/self/cmdline").read()
    return {
        "ahead": ahead, "pid": os.getpid(), "parent": os.getppid(), "calls": helper.calls,
        "umask": next(line for line in open("/proc/self/status") if line.startswith("Umask")).split()[1],
        "environ": dict(os.environ),
    }

@kinetic.run
def hold(path):
    import os, time
    while not os.path.exists(path):
        time.sleep(0.01)

@kinetic.run
def linger(path):
    import os, pathlib, subprocess, time
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    pathlib.Path(path).write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
"""


@pytest.fixture
def looking(project: Project) -> Project:
    project.write("watch.py", LOOK)
    return project


def alive(project: Project) -> list[int]:
    """Return the processes that have the project's home, and are no zombies."""
    home = f"HOME={project.home}\0".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if home in (folder / "environ").read_bytes() and b"kinetic" in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except (OSError, ProcessLookupError):
                continue
    return found


# A busy machine has not always a standby ready within the time that a user should wait for one.
PATIENT = "import kinetic_local.reserve\nkinetic_local.reserve._PATIENCE_S = 60.0\n"


def said(project: Project, code: str, **environ: str) -> Any:
    return project.run(f"{PATIENT}import json, os, watch\n{code}", environ=environ).said


def test_a_job_finds_what_it_finds_in_processes_of_its_own(looking: Project) -> None:
    code = "watch.who(); print(json.dumps([watch.look(), watch.who()['ahead']]))"
    ahead, used = said(looking, code)
    fresh, none_used = said(looking, code, KINETIC_LOCAL_STANDBY="0")
    assert (used, none_used) == (True, False)
    assert ahead == fresh


def test_every_job_has_processes_that_no_other_had(looking: Project) -> None:
    jobs = said(looking, "print(json.dumps([watch.who() for _ in range(4)]))")
    assert all(job["ahead"] for job in jobs)
    assert len({job["pid"] for job in jobs} | {job["parent"] for job in jobs}) == 8
    assert [job["calls"] for job in jobs] == [1, 1, 1, 1]


def test_a_supervisor_says_that_its_job_has_ended_before_it_ends_itself(looking: Project) -> None:
    code = """
job = watch.who.run_async()
endings = kinetic_local.reserve.reserve().endings
endings.setblocking(True)
heard = endings.recv(8).decode()
endings.setblocking(False)
print(json.dumps([heard, job.status(), job.result()["ahead"]]))
"""
    assert said(looking, code) == ["1", "SUCCEEDED", True]


def test_nothing_stays_when_the_client_ends(looking: Project) -> None:
    said(looking, "print(json.dumps(watch.who()))")
    wait_until(lambda: alive(looking) == [])


def test_nothing_stays_when_the_client_is_killed_though_a_fork_of_it_lives(looking: Project) -> None:
    client = looking.start(
        """
        import os, time, watch
        watch.who()
        child = os.fork()
        if not child:
            os.close(1)
            os.close(2)
        else:
            print(child, flush=True)
        time.sleep(600)
        """
    )
    assert client.stdout is not None
    fork = int(client.stdout.readline())
    try:
        wait_until(lambda: len(alive(looking)) >= 3)
        client.kill()
        client.communicate()
        wait_until(lambda: alive(looking) in ([], [fork]))
    finally:
        os.kill(fork, signal.SIGKILL)


@pytest.mark.parametrize("closed", [(0,), (0, 1), (0, 1, 2)])
def test_a_client_whose_streams_are_closed_has_a_standby_and_leaves_none(
    looking: Project, tmp_path: Path, closed: tuple[int, ...]
) -> None:
    client = looking.start(
        f"""
        import json, os, pathlib
        for number in {closed}:
            os.close(number)
        import watch
        told = [watch.who.run_async().result() for _ in range(2)]
        pathlib.Path({str(tmp_path / "told")!r}).write_text(json.dumps(told))
        """
    )
    client.communicate(timeout=60)
    assert [job["ahead"] for job in json.loads((tmp_path / "told").read_text())] == [True, True]
    wait_until(lambda: alive(looking) == [])


def test_a_fork_of_the_client_has_jobs_of_its_own(looking: Project) -> None:
    code = """
read, write = os.pipe()
watch.who()
if not (child := os.fork()):
    os.write(write, json.dumps(watch.who()).encode())
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps([json.loads(os.read(read, 1 << 16)), watch.who()]))
"""
    jobs = said(looking, code)
    assert [job["ahead"] for job in jobs] == [True, True]
    wait_until(lambda: alive(looking) == [])


def test_nothing_starts_before_a_job_is_submitted(looking: Project) -> None:
    client = looking.start(
        "import kinetic, watch; kinetic.list_jobs(); print('up', flush=True); import time; time.sleep(600)"
    )
    assert client.stdout is not None
    client.stdout.readline()
    try:
        assert [pid for pid in alive(looking) if pid != client.pid] == []
    finally:
        client.kill()
        client.communicate()


@pytest.mark.parametrize("victim", ["standby", "supervisor", "runner"])
def test_a_job_runs_though_what_waited_for_it_was_killed(looking: Project, victim: str) -> None:
    code = f"""
import signal, time
before = watch.who()
def waiting():
    found = {{}}
    for name in os.listdir("/proc"):
        try:
            if name == str(os.getpid()) or not name.isdigit():
                continue
            if b"stand_by" in open(f"/proc/{{name}}/cmdline", "rb").read():
                if "HOME=" + os.environ["HOME"] in open(f"/proc/{{name}}/environ").read():
                    fields = open(f"/proc/{{name}}/stat").read().rpartition(")")[2].split()
                    if fields[0] != "Z": found[int(name)] = int(fields[1])
        except OSError:
            pass
    return found
while len(found := waiting()) != 3 or before["parent"] in found: time.sleep(0.01)
(standby,) = (pid for pid, parent in found.items() if parent not in found)
(supervisor,) = (pid for pid, parent in found.items() if parent == standby)
(runner,) = (pid for pid, parent in found.items() if parent == supervisor)
os.kill({victim}, signal.SIGKILL)
# A job that is handed over while its supervisor dies ends with it.
while {victim} in waiting(): time.sleep(0.01)
print(json.dumps([watch.who()["calls"], watch.who()["calls"]]))
"""
    assert said(looking, code) == [1, 1]
    wait_until(lambda: alive(looking) == [])


def test_a_supervisor_that_ends_as_it_is_given_a_job_is_replaced(looking: Project) -> None:
    code = """
from kinetic_local.reserve import Standby
def broken(standby, message, locks):
    raise BrokenPipeError(32, "Broken pipe")
watch.who()
send, Standby.send = Standby.send, broken
jobs = [watch.who()]
Standby.send = send
print(json.dumps([*jobs, watch.who()]))
"""
    assert [job["ahead"] for job in said(looking, code)] == [False, True]
    wait_until(lambda: alive(looking) == [])


def test_a_client_that_ends_by_a_broken_pipe_is_not_ended_by_its_standby(looking: Project) -> None:
    code = """
import signal, socket
from kinetic_local.reserve import Standby
def broken(standby, message, locks):
    standby._channel.shutdown(socket.SHUT_RDWR)
    send(standby, message, locks)
watch.who()
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
send, Standby.send = Standby.send, broken
print(json.dumps(watch.who()))
"""
    assert said(looking, code)["ahead"] is False


def test_what_a_new_process_would_take_over_is_taken_over(looking: Project) -> None:
    code = """
told = [watch.who()]
os.umask(0o027)
told.append(watch.who())
os.environ["LC_ALL"] = "C.UTF-8"
os.environ["LD_LIBRARY_PATH"] = "/nowhere"
told.append(watch.who())
print(json.dumps(told))
"""
    first, second, third = said(looking, code)
    assert [job["umask"] for job in (second, third)] == ["0027", "0027"] != [first["umask"]] * 2
    assert "LC_ALL" not in second["environ"]
    assert (third["environ"]["LC_ALL"], third["environ"]["LD_LIBRARY_PATH"]) == ("C.UTF-8", "/nowhere")


def test_after_a_change_one_job_has_new_processes_and_the_next_a_standby_again(looking: Project) -> None:
    code = "told = [watch.who()]; os.umask(0o027); told += [watch.who(), watch.who()]; print(json.dumps(told))"
    told = said(looking, code)
    assert [(job["ahead"], job["umask"]) for job in told[1:]] == [(False, "0027"), (True, "0027")]
    wait_until(lambda: alive(looking) == [])


def test_a_secret_acts_from_the_very_start(looking: Project) -> None:
    code = "print(json.dumps([watch.who(), watch.who.options(secrets=['PYTHONHASHSEED'])()]))"
    plain, secret = said(looking, code, PYTHONHASHSEED="7")
    assert (plain["ahead"], secret["ahead"]) == (True, False)
    assert secret["environ"]["PYTHONHASHSEED"] == "7"
    assert "PYTHONHASHSEED" not in plain["environ"]


def test_jobs_that_wait_for_their_turn_hold_no_runner_and_run_one_after_the_other(
    looking: Project, tmp_path: Path
) -> None:
    code = f"""
import pathlib
first = watch.hold.run_async({str(tmp_path / "go")!r})
others = [watch.who.run_async() for _ in range(3)]
pathlib.Path({str(tmp_path / "go")!r}).touch()
first.result()
print(json.dumps([handle.result() for handle in others]))
"""
    jobs = said(looking, code, KINETIC_LOCAL_JOBS="1")
    assert len({job["pid"] for job in jobs}) == 3
    assert [(job["calls"], job["ahead"]) for job in jobs] == [(1, False)] * 3


def test_jobs_of_several_threads_keep_to_their_own(looking: Project) -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
import train
with ThreadPoolExecutor(4) as pool:
    print(json.dumps(list(pool.map(train.double, range(8)))))
"""
    assert said(looking, code, KINETIC_LOCAL_JOBS="4") == [0, 2, 4, 6, 8, 10, 12, 14]
    wait_until(lambda: alive(looking) == [])


def test_a_cancelled_job_leaves_no_process(looking: Project, tmp_path: Path) -> None:
    code = f"""
import time
watch.who()
handle = watch.linger.run_async({str(tmp_path / "told")!r})
while not os.path.exists({str(tmp_path / "told")!r}): time.sleep(0.01)
handle.cancel()
print(json.dumps(handle.status()))
"""
    assert said(looking, code) == "CANCELLED"
    pids = [int(pid) for pid in (tmp_path / "told").read_text().split()]
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    wait_until(lambda: alive(looking) == [])
