"""A process that forks after a submission, and a function that forks on the pod: nobody waits for ever."""

import sys
import textwrap
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from tests.contract.conftest import Servers, cloudy_place
from tests.contract.stores import CLOUDY
from tests.fakes.project import Project
from tests.fakes.servers.stores import CLOUDS

WATCHED: Final = textwrap.dedent(
    """
    import faulthandler, json, multiprocessing, os, signal, sys, traceback, warnings
    # Python 3.12 warns of forks where other threads run.
    warnings.filterwarnings("always", message=".*fork.*", category=DeprecationWarning)
    import kinetic, forking

    def forked(act, leave=os._exit):
        # Make a fork that acts and leaves, and return how it ended.
        sys.stdout.flush()
        child = os.fork()
        if not child:
            signal.alarm(30)
            try:
                act()
            except BaseException:
                traceback.print_exc()
                leave(1)
            leave(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    # Who hangs says where, and ends.
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(70)
"""
)


@attrs.frozen
class Client:
    """A user's process that talks to an object store."""

    project: Project
    environ: dict[str, str]

    def run(self, code: str, *, alone: bool = False) -> Any:
        """Return what the code prints last; no process of it says a word of trouble.

        Args:
            code: To run.
            alone: No thread may be there at a fork; not even the daily cleaning of contexts, which is left out then.
        """
        environ = self.environ | ({"KINETIC_CACHE": "off"} if alone else {})
        ended = self.project.run(WATCHED + textwrap.dedent(code), environ=environ)
        assert "Traceback" not in ended.err
        assert "Exception ignored" not in ended.err
        assert not alone or "multi-threaded" not in ended.out + ended.err
        return ended.said


@pytest.fixture(params=[scheme for scheme in CLOUDY if scheme != "abfs"])
def client(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> Client:
    place = cloudy_place(request.param, servers, tmp_path)
    assert place.proxy is not None
    # In development mode asyncio itself objects to how the clients of stores end.
    project = Project(tmp_path, flags=())
    project.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    project.write("data/numbers", "1 2 3")
    project.write(
        "forking.py",
        """
        import multiprocessing, os, pathlib, sys, warnings
        import kinetic

        @kinetic.run(accelerator="cpu")
        def double(x):
            return 2 * x

        def submit(x):
            return double(x)

        def numbers(path):
            return sum(map(int, pathlib.Path(path).read_text().split()))

        @kinetic.run(accelerator="cpu")
        def on_the_pod(path, leave):
            warnings.filterwarnings("always", message=".*fork.*", category=DeprecationWarning)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                sums = pool.map(numbers, [path] * 4)
            child = os.fork()
            if not child:
                if leave:
                    os._exit(numbers(path))
                return "from the fork"
            return sums, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        """,
    )
    environ = {
        "KINETIC_STORAGE": place.url.replace(" ", "-"),
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        "NO_GCE_CHECK": "true",
        **CLOUDS[place.scheme].configured(place.proxy.address.replace("127.0.0.1", "localhost")),
    }
    return Client(project, environ)


@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_a_fork_that_only_exits_disturbs_nobody(client: Client, leave: str) -> None:
    said = client.run(
        f"""
        handle = forking.double.run_async(1)
        ends = [forked(lambda: None, {leave}) for _ in range(2)]
        # On the connections that the fork had, too.
        print(json.dumps([ends, handle.result(), forking.double(2)]))
    """,
        alone=True,
    )
    assert said == [[0, 0], 2, 4]


@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_a_fork_submits_and_collects(client: Client, leave: str) -> None:
    said = client.run(f"""
        def act():
            assert forking.double(20) == 40
        first = forking.double(1)
        print(json.dumps([first, forked(act, {leave}), forking.double(2)]))
    """)
    assert said == [2, 0, 4]


def test_a_fork_goes_on_with_handles_of_its_parent(client: Client) -> None:
    said = client.run("""
        handle = forking.double.run_async(3)
        batch = forking.double.run_async_map([1, 2, 3])
        batch.wait()
        def act():
            assert handle.result(cleanup=False) == 6
            assert batch.results(cleanup=False) == [2, 4, 6]
        print(json.dumps([forked(act), handle.result(), batch.results()]))
    """)
    assert said == [0, 6, [2, 4, 6]]


def test_a_fork_goes_on_with_a_batch_that_its_parent_drives(client: Client) -> None:
    said = client.run("""
        batch = forking.double.run_async_map(range(6), max_concurrent=2)
        def act():
            assert batch.results(cleanup=False) == [0, 2, 4, 6, 8, 10]
        print(json.dumps([forked(act), batch.results()]))
    """)
    assert said == [0, [0, 2, 4, 6, 8, 10]]


def test_a_pool_of_forks_submits(client: Client) -> None:
    said = client.run("""
        first = forking.double(1)
        with multiprocessing.get_context("fork").Pool(2) as workers:
            print(json.dumps([first, workers.map(forking.submit, [2, 3, 4])]))
    """)
    assert said == [2, [4, 6, 8]]


def test_a_fork_reads_data_that_another_thread_was_hashing(client: Client) -> None:
    said = client.run("""
        import threading
        data = kinetic.Data("data")
        hashing, forked_already = threading.Event(), threading.Event()
        def hash_slowly(path):
            from kinetic_core.references.hashing import hash_path
            hashing.set()
            forked_already.wait()
            return hash_path(path)
        thread = threading.Thread(target=data.hashed, args=(hash_slowly,))
        thread.start()
        hashing.wait()
        warnings.simplefilter("ignore")  # here are two threads, and Python says so
        end = forked(lambda: data.content_hash())
        forked_already.set()
        thread.join()
        print(json.dumps([end, len(data.content_hash())]))
    """)
    assert said == [0, 64]


def test_forks_made_while_other_threads_submit_end(client: Client) -> None:
    said = client.run("""
        import threading
        warnings.simplefilter("ignore")  # here are several threads, and Python says so
        # Whoever forks in the middle of an import has its lock for ever, in any program.
        values = [forking.double(-1)]
        threads = [threading.Thread(target=lambda x=x: values.append(forking.double(x))) for x in range(4)]
        for thread in threads:
            thread.start()
        def act():
            assert forking.double(20) == 40
        ends = []
        while any(thread.is_alive() for thread in threads) and len(ends) < 6:
            ends.append(forked(act))
        for thread in threads:
            thread.join()
        print(json.dumps([set(ends) == {0}, sorted(values)]))
    """)
    assert said == [True, [-2, 0, 2, 4, 6]]


@pytest.mark.parametrize("leave", [True, False])
def test_a_function_forks_on_the_pod(client: Client, leave: bool) -> None:
    said = client.run(
        f"""
        print(json.dumps(forking.on_the_pod(kinetic.Data("data/numbers"), {leave})))
    """,
        alone=not client.environ["KINETIC_STORAGE"].startswith("gs:"),
    )  # gcsfs keeps threads once it has read
    assert said == [[6, 6, 6, 6], 6 if leave else 0]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="warns of no forks")
def test_a_fork_beside_a_thread_of_the_users_would_be_warned_of(client: Client) -> None:
    code = """
        import threading
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        forked(lambda: None)
    """
    assert "multi-threaded" in client.project.run(WATCHED + textwrap.dedent(code), environ=client.environ).err
