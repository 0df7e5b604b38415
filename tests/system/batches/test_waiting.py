"""How long somebody waits for a batch, and what that may be."""

from tests.system.batches.conftest import Noted


def test_who_waits_for_ever_may_say_infinity(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, math, train
        batch = train.double.run_async_map([1, 2])
        waited = [batch.wait(math.inf), batch.progress(1e12), len(list(batch.as_completed(math.inf, math.inf)))]
        handle = train.double.run_async(4)
        print(json.dumps([waited, batch.results(math.inf), handle.wait(math.inf), handle.result(10**400)]))
        """
    )
    assert ended.said == [[{"SUCCEEDED": 2}, {"SUCCEEDED": 2}, 2], [2, 4], "SUCCEEDED", 8]


def test_times_that_are_none_are_refused_and_the_batch_goes_on(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import json, kinetic, train
        batch = train.double.run_async_map([1, 2])
        handle = train.double.run_async(4)
        told = []
        for wait in (
            lambda: list(batch.as_completed(poll_interval="1", timeout=20)),
            lambda: list(batch.as_completed(timeout="1")),
            lambda: batch.wait("1"),
            lambda: batch.results("1"),
            lambda: batch.progress(float("nan")),
            lambda: handle.wait("1"),
            lambda: handle.result("1"),
            lambda: list(handle.events(float("nan"))),
        ):
            try:
                wait()
            except kinetic.KineticError as error:
                told.append(str(error).partition(" must be")[0])
        print(json.dumps([told, batch.results(timeout=60), handle.result()]))
        """
    )
    assert ended.said == [["poll_interval", *["timeout"] * 7], [2, 4], 8]


def test_what_does_not_end_in_time_goes_on(noted: Noted) -> None:
    ended = noted.project.run(
        """
        import train
        batch = train.rest.run_async_map([1, 2])
        for wait in (batch.wait, batch.results, batch.progress, lambda t: list(batch.as_completed(timeout=t))):
            try:
                wait(0.1)
            except TimeoutError as error:
                print(error)
        batch.cleanup()
        """
    )
    told = "is not done after 0.1 s: 0 of 2 inputs have ended; it goes on, ask this handle again"
    assert ended.out.count(told) == 4
    assert noted.project.stored() == []
