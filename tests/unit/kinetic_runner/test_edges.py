"""The runner's small parts: command line, hosts, URIs, retries, threads, formats, streams."""

import errno
import faulthandler
import gc
import io
import os
import runpy
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kinetic_runner import runner, streams
from kinetic_runner.arguments import parse
from kinetic_runner.copying import copy_file, copy_tree
from kinetic_runner.formats import PICKLE, allowed_formats, check_format, format_of
from kinetic_runner.hosts import host_index, worker_result_uri
from kinetic_runner.image import image_path
from kinetic_runner.log import Log
from kinetic_runner.parallel import side_by_side
from kinetic_runner.scratch import make_scratch
from kinetic_runner.streams import unbuffer
from kinetic_runner.uris import base_name, local_path
from tests.fakes.holding import own_threads
from tests.unit.kinetic_runner.journal import Journal

NEEDED = ["--context", "c", "--payload", "p", "--result", "r"]


def test_every_flag_is_understood() -> None:
    arguments = parse(
        [
            *("--context-gcs", "gs://c", "--payload-gcs=gs://p", "--result-gcs", "gs://r"),
            *("--requirements-gcs", "gs://q", "--context-sha256", "aa", "--payload-sha256=bb"),
            *("--allowed-serialization", "json", "--workspace", "/w", "--no-working-dir-link"),
            *("--context-layer", "gs://l/1", "--context-layer=gs://l/2"),
        ]
    )
    assert arguments.context_layers == ("gs://l/1", "gs://l/2")
    assert (arguments.context, arguments.payload, arguments.result) == ("gs://c", "gs://p", "gs://r")
    assert (arguments.requirements, arguments.context_sha256, arguments.payload_sha256) == ("gs://q", "aa", "bb")
    assert (arguments.allowed_serialization, arguments.workspace) == ("json", "/w")
    assert arguments.working_dir_link is False


def test_the_last_one_of_a_flag_counts_and_the_link_is_made_unless_forbidden() -> None:
    arguments = parse([*NEEDED, "--context", "other"])
    assert arguments.context == "other"
    assert arguments.working_dir_link is True


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--context", "c"], "missing --payload, --result"),
        (["--context", "", "--payload", "p", "--result", "r"], "missing --context"),
        ([*NEEDED, "--wrong", "x"], "unknown argument '--wrong'"),
        ([*NEEDED, "stray"], "unknown argument 'stray'"),
        ([*NEEDED, "--workspace"], "--workspace needs a value"),
        ([*NEEDED, "--no-working-dir-link=1"], "unknown argument"),
    ],
)
def test_a_command_line_that_cannot_be_used_exits_2_with_one_line(
    argv: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse(argv)
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_flag_and_exits_0(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse([flag])
    assert stopped.value.code == 0
    told = capsys.readouterr().out
    for name in ("--context", "--requirements-gcs", "--workspace", "--no-working-dir-link", "--payload-sha256"):
        assert name in told


@pytest.mark.parametrize(
    ("environ", "index"),
    [
        ({}, 0),
        ({"TPU_WORKER_ID": "3", "LWS_WORKER_INDEX": "2", "JOB_COMPLETION_INDEX": "1"}, 3),
        ({"LWS_WORKER_INDEX": "2", "JOB_COMPLETION_INDEX": "1"}, 2),
        ({"JOB_COMPLETION_INDEX": " 1 "}, 1),
        ({"TPU_WORKER_ID": "²", "LWS_WORKER_INDEX": "4"}, 4),
    ],
)
def test_the_host_index_comes_from_the_first_variable_that_has_one(environ: dict[str, str], index: int) -> None:
    assert host_index(environ)[0] == index


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("gs://b/j/result.pkl", "gs://b/j/result-worker-2.pkl"),
        ("file:///j/result.json", "file:///j/result-worker-2.json"),
        ("result.pkl", "result-worker-2.pkl"),
        ("gs://b/j/result", "gs://b/j/result-worker-2"),
        ("gs://b.c/result", "gs://b.c/result-worker-2"),
    ],
)
def test_another_host_writes_beside_the_result(uri: str, expected: str) -> None:
    assert worker_result_uri(uri, 2) == expected
    assert worker_result_uri(uri, 0) == uri


def test_file_uris_are_taken_literally_and_decoded_only_where_that_leads_somewhere(tmp_path: Path) -> None:
    literal, spaced = tmp_path / "a%20b", tmp_path / "c d"
    literal.touch()
    spaced.touch()
    assert local_path(f"file://{literal}") == literal
    assert local_path(spaced.as_uri()) == spaced
    assert local_path(f"file://{tmp_path}/new%20name/x") == tmp_path / "new%20name/x"
    spaced.unlink()
    spaced.mkdir()
    assert local_path(f"{spaced.as_uri()}/result.pkl") == spaced / "result.pkl"
    assert local_path(f"file://localhost{literal}") == literal


def test_paths_without_a_scheme_and_home_are_local(isolated_home: Path, tmp_path: Path) -> None:
    assert local_path(str(tmp_path)) == tmp_path
    assert local_path("relative") == Path.cwd() / "relative"
    assert local_path("file://~/store") == isolated_home / "store"
    assert local_path("memory://x/y") is None


@pytest.mark.parametrize(("uri", "name"), [("gs://b/x.txt", "x.txt"), ("gs://b/dir/", "dir"), ("x", "x")])
def test_the_name_of_a_uri_is_its_last_part(uri: str, name: str) -> None:
    assert base_name(uri) == name


def test_calls_run_side_by_side_and_answer_in_order() -> None:
    gate = threading.Barrier(2, timeout=60)

    def meet(value: int) -> int:
        gate.wait()
        return value

    with own_threads() as threads:
        assert side_by_side([lambda: meet(1), lambda: meet(2)]) == [1, 2]
    assert threads.alive == []


def test_many_calls_share_few_threads_and_leave_none() -> None:
    names: set[str] = set()

    def note(value: int) -> int:
        names.add(threading.current_thread().name)
        return value

    with own_threads() as threads:
        assert side_by_side([partial(note, value) for value in range(50)], width=3) == list(range(50))
    assert len(names) <= 3
    assert threads.alive == []


def test_a_single_call_needs_no_thread() -> None:
    assert side_by_side([threading.current_thread]) == [threading.current_thread()]
    assert side_by_side([]) == []


def test_the_first_failure_in_order_is_raised_and_what_did_not_begin_is_left_out() -> None:
    begun: list[int] = []

    def fail() -> int:
        raise ValueError("first")

    def begin() -> int:
        begun.append(1)
        return 1

    with pytest.raises(ValueError, match="first"):
        side_by_side([fail, *([begin] * 500)], width=1)
    assert begun == []


@pytest.mark.parametrize(
    ("asked", "limit", "allowed"),
    [
        (None, "", ("json", "pickle")),
        ("pickle, json", "", ("pickle", "json")),
        ("json", "json,pickle", ("json",)),
        (None, "json", ("json",)),
        ("pickle", "json", ()),
        ("json,json", " ", ("json",)),
    ],
)
def test_the_pod_narrows_what_the_client_asked_for(asked: str | None, limit: str, allowed: tuple[str, ...]) -> None:
    assert allowed_formats(asked, {"KINETIC_ALLOWED_SERIALIZATION": limit}) == allowed


@pytest.mark.parametrize(("asked", "limit"), [("yaml", ""), ("json", "json,yaml")])
def test_an_unknown_format_lists_the_known_ones(asked: str, limit: str) -> None:
    with pytest.raises(ValueError, match=r"'yaml'; known formats: \['json', 'pickle'\]"):
        allowed_formats(asked, {"KINETIC_ALLOWED_SERIALIZATION": limit})


def test_the_refusal_reads_as_the_contract_says() -> None:
    with pytest.raises(ValueError, match="not allowed") as refused:
        check_format("pickle", ("json",))
    assert str(refused.value) == "Serialization format 'pickle' not allowed. Allowed formats: ['json']"
    check_format("json", ("json",))
    assert format_of("x.pkl") is PICKLE


def test_a_private_directory_is_private_and_random(tmp_path: Path) -> None:
    one, two = (make_scratch({"TMPDIR": str(tmp_path)}) for _ in range(2))
    assert one != two
    assert one.parent == tmp_path
    assert one.stat().st_mode & 0o777 == 0o700


def test_a_name_that_is_taken_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter([b"\0" * 8, b"\0" * 8, b"\1" * 8])
    monkeypatch.setattr(os, "urandom", lambda _: next(names))
    one, two = (make_scratch({"TMPDIR": str(tmp_path)}) for _ in range(2))
    assert one != two
    monkeypatch.setattr(os, "urandom", lambda _: b"\0" * 8)
    with pytest.raises(FileExistsError, match="no free name"):
        make_scratch({"TMPDIR": str(tmp_path)})


def test_copies_follow_links_and_keep_bytes(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.joinpath("deep/empty").mkdir(parents=True)
    source.joinpath("deep/a").write_bytes(b"x" * 100_000)
    source.joinpath("link").symlink_to("deep")
    copy_tree(source, tmp_path / "target")
    assert tmp_path.joinpath("target/deep/a").read_bytes() == b"x" * 100_000
    assert tmp_path.joinpath("target/link/a").stat().st_size == 100_000
    assert not tmp_path.joinpath("target/link").is_symlink()
    assert tmp_path.joinpath("target/deep/empty").is_dir()
    copy_file(source / "deep/a", tmp_path / "b")
    assert tmp_path.joinpath("b").stat().st_size == 100_000


def test_a_directory_that_cannot_be_read_is_no_silent_gap(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        copy_tree(tmp_path / "gone", tmp_path / "target")


@pytest.mark.usefixtures("own_process")
def test_imports_of_the_runners_own_do_not_see_the_workspace(tmp_path: Path) -> None:
    tmp_path.joinpath("tabnanny.py").write_text("raise RuntimeError('shadowed')")
    sys.path.insert(0, str(tmp_path))
    with image_path():
        import tabnanny
    assert str(tmp_path) not in str(tabnanny.__file__)
    assert sys.path[0] == str(tmp_path)


class Closed(io.StringIO):
    """Fails on writing."""

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, "no space")


def test_a_log_that_cannot_be_written_does_no_harm() -> None:
    Log(Closed()).say("anything")
    closed = io.StringIO()
    closed.close()
    Log(closed).caution("anything")


def test_log_lines_are_short_and_marked(journal: Journal) -> None:
    journal.say("one")
    journal.caution("two")
    journal.text("three\nfour\n")
    assert journal.text_of_all == "kinetic: one\nkinetic: warning: two\nthree\nfour\n"


def test_streams_are_unbuffered_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("w", encoding="latin-1") as stream:
        replaced: Any = io.StringIO()
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", replaced)
        stream.write("before ")
        unbuffer()
        sys.stdout.write("é")
        assert path.read_bytes() == b"before \xe9"
        sys.stdout.buffer.write(b"!")
        assert path.read_bytes() == b"before \xe9!"
        assert sys.stderr is replaced
        once = sys.stdout
        unbuffer()
        assert sys.stdout is once


def test_a_standard_descriptor_that_is_closed_leads_nowhere_and_its_stream_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = os.dup(0)
    os.close(free)
    # As if the next number to be given out were one of the three.
    monkeypatch.setattr(streams, "_STDERR", free)
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(streams, "_STDOUT", free)
    try:
        unbuffer()
        assert os.get_inheritable(free)
        assert os.path.samestat(os.fstat(free), Path(os.devnull).stat())
        assert sys.stdout.fileno() == free
        sys.stdout.write("nowhere")
    finally:
        os.close(free)


@pytest.mark.usefixtures("alone")
def test_the_program_unbuffers_its_streams_and_leaves_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(faulthandler, "enable", lambda: done.append("crashes told"))
    monkeypatch.setattr(streams, "unbuffer", lambda: done.append("unbuffered"))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("imports kept from the collector"))
    monkeypatch.setattr(runner, "run", lambda *_, **__: 1)
    program = str(Path(runner.__file__).with_name("__main__.py"))
    with pytest.raises(SystemExit) as left:
        runpy.run_path(program, run_name="__main__")
    assert (left.value.code, done) == (1, ["unbuffered", "crashes told", "imports kept from the collector"])
    runpy.run_path(program, run_name="__mp_main__")
    assert len(done) == 3
