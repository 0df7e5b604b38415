"""Batches from the decorator to the values, with real jobs."""

import json

import pytest

from tests.system.batches.conftest import Noted


def test_values_come_in_the_order_of_the_inputs_and_nothing_is_left(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, kinetic, train
        batch = kinetic.map(train.double, [3, 1, 2], name="three", tags=["a", "b"])
        print(json.dumps([batch.results(), batch.name, batch.tags, batch.statuses(), batch.attempts()]))
        """
    )
    assert ended.said == [[6, 2, 4], "three", ["a", "b"], ["SUCCEEDED"] * 3, [1, 1, 1]]
    assert noted.project.stored() == [f"batches/{noted.group_ids()[0]}"]
    assert list(noted.project.temp.iterdir()) == []


def test_a_collected_batch_says_that_it_was_collected(noted: Noted) -> None:
    noted.project.run("import train; train.double.run_async_map([1]).results()")
    (group_id,) = noted.group_ids()
    ended = noted.project.run(f"import kinetic; kinetic.attach_batch({group_id!r})", fails=True)
    assert f"the results of {group_id} were collected at" in ended.err


def test_each_way_of_turning_an_input_into_arguments(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, train
        auto = train.keep.run_async_map([{"a": 1}, {}, {"not a name": 1}, (1, 2), [3], "text", None])
        single = train.keep.run_async_map([(1, 2), {"a": 1}], input_mode="single")
        said = [auto.results(), single.results()]
        for mode, wrong in (("args", 3), ("kwargs", [1]), ("odd", 1)):
            try:
                train.keep.run_async_map([wrong], input_mode=mode)
            except TypeError as error:
                said.append(str(error))
        print(json.dumps(said))
        """
    )
    auto, single, *refused = ended.said
    assert auto == [
        [[], {"a": 1}],
        [[], {}],
        [[{"not a name": 1}], {}],
        [[1, 2], {}],
        [[3], {}],
        [["text"], {}],
        [[None], {}],
    ]
    assert single == [[[[1, 2]], {}], [[{"a": 1}], {}]]
    assert refused == [
        "with input_mode='args' each input must be a list or tuple, got one of type int",
        "with input_mode='kwargs' each input must be a dict with text keys, got one of type list",
        "input_mode must be one of 'auto', 'single', 'args', 'kwargs', got 'odd'",
    ]


def test_failures_are_told_and_values_that_are_none_are_values(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, kinetic, helper, train
        batch = train.fail_odd.run_async_map([0, 1, 2, 3])
        try:
            batch.results()
        except kinetic.BatchError as error:
            kept = error
        values = batch.results(return_exceptions=True)
        print(json.dumps([
            str(kept), kept.group_id == batch.group_id, [batch.index_of(job) for job in kept.failures],
            kept.partial_results, kept.submission_failures, isinstance(kept.__cause__, helper.Mishap),
            [type(value).__name__ for value in values], [job.status() for job in batch.failures()],
            batch.status_counts(),
        ]))
        """
    )
    text, same, failed, partial, refused, caused, kinds, statuses, counts = ended.said
    assert "2 of 4 inputs have no result\ninput 1: Mishap: 1\ninput 3: Mishap: 3\n" in text
    assert (same, failed, partial, refused, caused) == (True, [1, 3], [None] * 4, {}, True)
    assert kinds == ["NoneType", "Mishap", "NoneType", "Mishap"]
    assert statuses == ["FAILED", "FAILED"]
    assert counts == {"SUCCEEDED": 2, "FAILED": 2}
    assert noted.group_ids()


def test_inputs_that_cannot_travel_are_named_as_they_are_and_the_others_run(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, kinetic, threading, train
        batch = train.double.run_async_map([1, {"x": threading.Lock()}, {"y": 1}, 4])
        try:
            batch.results()
        except kinetic.BatchError as error:
            told = {index: str(one) for index, one in error.submission_failures.items()}
            print(json.dumps([told, error.partial_results, batch.attempts()]))
        """
    )
    told, partial, attempts = ended.said
    assert told["1"].startswith("kinetic could not serialize keyword argument 'x' (type lock): ")
    assert "cannot be called like this" in told["2"]
    assert partial == [2, None, None, 8]
    assert attempts == [1, 0, 0, 1]


def test_an_input_is_tried_again_as_another_job_and_the_attempts_are_counted(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, train
        batch = train.flaky.run_async_map([0, 1, 2], retries=2)
        print(json.dumps([batch.results(cleanup=False), batch.attempts(), batch.group_id]))
        """
    )
    values, attempts, _ = ended.said
    assert (values, attempts) == ([0, 2, 4], [1, 2, 1])
    assert noted.inputs == {"0": 1, "1": 2, "2": 1}
    assert set(noted.job_ids.values()) == {1}


@pytest.mark.parametrize("inputs", ["[]", "iter(())"])
def test_no_inputs_are_no_results(noted: Noted, inputs: str) -> None:
    ended = noted.project.run(
        f"""
        import json, train
        batch = train.double.run_async_map({inputs})
        print(json.dumps([batch.results(), list(batch.as_completed()), batch.status_counts(), batch.jobs]))
        """
    )
    assert ended.said == [[], [], {}, []]


def test_a_generator_is_consumed_no_faster_than_jobs_may_run(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, train
        done, most = 0, 0
        def inputs():
            global most
            for taken in range(6):
                ended = sum(status.is_terminal for status in batch.statuses()) if taken >= 2 else 0
                most = max(most, taken + 1 - ended)
                yield taken
        batch = train.double.run_async_map(inputs(), max_concurrent=2)
        print(json.dumps([sorted(job.result() for job in batch.as_completed()), most]))
        """
    )
    assert ended.said == [[0, 2, 4, 6, 8, 10], 2]


def test_a_generator_that_raises_is_the_last_input_and_those_before_it_run(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, kinetic, train
        def inputs():
            yield 1
            raise LookupError("no more")
        try:
            train.double.run_async_map(inputs()).results()
        except kinetic.BatchError as error:
            print(json.dumps([error.partial_results, {i: repr(e) for i, e in error.submission_failures.items()}]))
        """
    )
    assert ended.said == [[2, None], {"1": "LookupError('no more')"}]


def test_after_a_failure_nothing_more_starts_where_that_was_asked_for(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, kinetic, train
        batch = train.fail_odd.run_async_map([1, 2, 4, 6, 8], max_concurrent=1, fail_fast=True)
        try:
            batch.results()
        except kinetic.BatchError as error:
            print(json.dumps([len(error.failures), error.partial_results, batch.wait(), batch.statuses()]))
        """
    )
    failures, partial, counts, statuses = ended.said
    assert (failures, partial) == (1, [None] * 5)
    assert counts == {"FAILED": 1, "CANCELLED": 4}
    assert statuses == ["FAILED", *["CANCELLED"] * 4]
    assert noted.inputs == {"1": 1}


def test_a_cancelled_batch_ends_what_runs_and_starts_nothing_more_in_any_process(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, pathlib, time, kinetic, subprocess, sys, train
        batch = train.rest.run_async_map(range(5), max_concurrent=1)
        while not pathlib.Path(train.RUNS).read_text():
            time.sleep(0.05)
        code = "import kinetic, sys; kinetic.attach_batch(sys.argv[1]).cancel()"
        subprocess.run([sys.executable, "-c", code, batch.group_id], check=True)
        try:
            batch.results(return_exceptions=False)
        except kinetic.BatchError as error:
            print(json.dumps([batch.statuses(), [type(e).__name__ for e in batch.results(return_exceptions=True)]]))
        batch.cancel()
        batch.cleanup()
        batch.cleanup()
        """
    )
    assert ended.said == [["CANCELLED"] * 5, ["JobCancelledError"] * 5]
    assert noted.inputs == {"0": 1}
    assert noted.project.stored() == []


def test_a_batch_is_cancelled_though_its_generator_never_yields_again(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, kinetic, threading, train
        def inputs():
            yield 1
            threading.Event().wait()
        batch = train.rest.run_async_map(inputs())
        while not batch.jobs:
            threading.Event().wait(0.02)
        batch.cancel()
        try:
            batch.results()
        except kinetic.BatchError as error:
            print(json.dumps([batch.statuses(), "the process that had them" in str(error)]))
        batch.cleanup()
        """
    )
    assert ended.said == [["CANCELLED"], False]


def test_jobs_of_a_batch_are_jobs_like_any_other(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, kinetic, pickle, train
        batch = train.double.run_async_map([4, 5])
        batch = pickle.loads(pickle.dumps(batch))
        jobs = {batch.index_of(job): job for job in batch.as_completed(poll_interval=0.1, timeout=60)}
        other = kinetic.attach(jobs[1].job_id)
        value = other.result()
        print(json.dumps([jobs[0].result(cleanup=False), value, other.to_dict()["group_id"] == batch.group_id]))
        """
    )
    assert ended.said == [8, 10, True]


def test_progress_is_one_line_where_stderr_is_no_terminal(noted: Noted) -> None:
    ended = noted.project.run("import train; print(train.fail_odd.run_async_map([0, 1]).progress())")
    said = [line for line in ended.err.splitlines() if "inputs have ended" in line]
    assert said == [f"kinetic: {noted.group_ids()[0]}: 2 of 2 inputs have ended: 1 SUCCEEDED, 1 FAILED"]


def test_data_in_an_input_arrives_and_stays_out_of_the_archive(noted: Noted) -> None:
    noted.project.write("data/big.txt", "content")
    ended = noted.project.run(
        """
        import json, kinetic, train, zipfile

        def read(path, factor):
            return open(path).read() * factor

        batch = kinetic.map(kinetic.run(accelerator="cpu")(read), [(kinetic.Data("data/big.txt"), 2), ("helper.py", 0)])
        print(json.dumps(batch.results(cleanup=False)))
        """
    )
    assert ended.said == ["contentcontent", ""]
    import zipfile

    (context,) = noted.project.store.glob("batch-*/context.zip")
    assert "data/big.txt" not in zipfile.ZipFile(context).namelist()


def test_a_method_carries_its_instance_once_and_plain_formats_work_too(noted: Noted) -> None:
    noted.project.write(
        "models.py",
        """
        import kinetic

        class Model:
            def __init__(self, weight):
                self.weight = weight

            @kinetic.run(accelerator="cpu")
            def scale(self, x):
                return self.weight * x, type(self) is Model

        @kinetic.run(accelerator="cpu", serialization="json")
        def plain(x):
            return [x]
        """,
    )
    ended = noted.project.run(
        """
        import json, models
        scaled = models.Model(3).scale.run_async_map([1, 2]).results()
        print(json.dumps([scaled, models.plain.run_async_map([1, 2]).results()]))
        """
    )
    assert ended.said == [[[3, True], [6, True]], [[1], [2]]]


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ("max_concurrent=0", "max_concurrent must be a whole number of 1 or more, or None for no limit, got 0"),
        ("max_concurrent=True", "max_concurrent must be"),
        ("retries=-1", "retries must be a whole number of 0 or more, got -1"),
    ],
)
def test_limits_that_cannot_be_used_are_refused_before_anything_is_packaged(
    noted: Noted, keywords: str, said: str
) -> None:
    assert said in noted.project.run(f"import train; train.double.run_async_map([1], {keywords})", fails=True).err


@pytest.mark.parametrize("inputs", ["3", "'text'", "None"])
def test_what_is_no_iterable_of_inputs_is_refused(noted: Noted, inputs: str) -> None:
    ended = noted.project.run(f"import train; train.double.run_async_map({inputs})", fails=True)
    assert "inputs must be an iterable of inputs, such as a list or a generator, got" in ended.err


def test_a_function_that_cannot_travel_leaves_nothing(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import kinetic, threading
        lock = threading.Lock()
        def locked(x):
            return lock
        kinetic.map(locked, [1])
        """,
        fails=True,
    )
    assert "kinetic could not serialize the function 'locked'" in ended.err
    assert noted.project.stored() == []


def test_whoever_collects_a_batch_at_the_same_time_gets_the_values_or_a_clear_word(noted: Noted) -> None:
    group_id = noted.project.run(
        "import json, train; print(json.dumps(train.double.run_async_map([1, 2, 3]).group_id))"
    ).said
    code = f"import json, kinetic; print(json.dumps(kinetic.attach_batch({group_id!r}).results()))"
    processes = [noted.project.start(code) for _ in range(4)]
    said = [process.communicate(timeout=120) for process in processes]
    assert any(process.returncode == 0 for process in processes)
    for process, (out, err) in zip(processes, said, strict=True):
        if process.returncode == 0:
            assert json.loads(out.splitlines()[-1]) == [2, 4, 6]
        else:
            assert "were collected at" in err.splitlines()[-1]


def test_what_a_collector_finds_half_removed_is_said_to_be_collected(noted: Noted) -> None:
    ended = noted.project.run("""
        import json, shutil, kinetic, train
        from pathlib import Path
        batch = train.double.run_async_map([1, 2], retries=2)
        batch.wait()
        (folder,) = Path.home().glob(".kinetic/store/batch-*")
        pointer = Path.home() / ".kinetic/store/batches" / batch.group_id
        pointer.write_text(json.dumps({"format": 1, "collected_at": "2026-11-30T00:00:00+00:00"}))
        shutil.rmtree(folder / "jobs")
        try:
            batch.results()
        except kinetic.ResultUnavailableError as error:
            print(json.dumps(str(error)))
    """)
    assert "were collected at 2026-11-30" in ended.said


def test_a_batch_that_was_cleaned_up_says_so(noted: Noted) -> None:
    ended = noted.project.run("""
        import json, kinetic, train
        batch = train.double.run_async_map([1, 2])
        batch.wait()
        batch.cleanup()
        try:
            batch.results()
        except kinetic.ResultUnavailableError as error:
            print(json.dumps(str(error)))
    """)
    assert "was cleaned up: nothing of it is left" in ended.said
