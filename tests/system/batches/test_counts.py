"""What a batch costs, in calls: the project and the function are staged once, however many inputs there are."""

import pytest

from tests.system.batches.conftest import Noted

COUNTED = """
    import collections, json
    from kinetic_fsspec.file import FileStorage
    from kinetic_local.backend import LocalBackend

    keys, calls = [], collections.Counter()

    def counted(kind, name, note):
        real = getattr(kind, name)
        def wrapped(self, *args, **kwargs):
            note(args)
            return real(self, *args, **kwargs)
        setattr(kind, name, wrapped)

    for name in ("put_bytes", "put_file", "put_if_absent"):
        counted(FileStorage, name, lambda args: keys.append(args[1]))
    for name in ("submit", "submit_many", "preflight"):
        counted(LocalBackend, name, lambda args, name=name: calls.update([name]))
"""


@pytest.mark.parametrize("count", [2, 40])
def test_the_project_and_the_function_are_put_once_and_the_array_is_submitted_once(noted: Noted, count: int) -> None:
    ended = noted.project.run(
        f"""{COUNTED}
    import train
    batch = train.double.run_async_map(range({count}))
    started = list(keys)
    batch.results(cleanup=False)
    print(json.dumps([started, keys, calls, batch.group_id]))
    """
    )
    started, keys, calls, group_id = ended.said
    assert calls == {"preflight": 1, "submit_many": 1}
    names = [key.removeprefix(f"{group_id}/") for key in started]
    for name in ("context.zip", "shared/payload.pkl", "batch.json", "inputs/00000.json", "inputs/end.json"):
        assert names.count(name) == 1
    # Each input: its payload, and the job's handle and pointer. All else is the batch's.
    assert len(started) <= 3 * count + 9
    later = keys[len(started) :]
    assert {key.removeprefix(f"{group_id}/").partition("/")[0] for key in later} <= {"attempts"}


def test_the_payload_of_an_input_holds_its_arguments_and_not_what_the_function_holds(noted: Noted) -> None:
    noted.project.write(
        "heavy.py",
        """
        import kinetic

        WEIGHTS = b"w" * 300_000

        @kinetic.run(accelerator="cpu")
        def weigh(x):
            return len(WEIGHTS) + x
        """,
    )
    ended = noted.project.run(
        """
        import json, heavy
        batch = heavy.weigh.run_async_map([1, 2, 3])
        print(json.dumps(batch.results(cleanup=False)))
        """
    )
    assert ended.said == [300_001, 300_002, 300_003]
    sizes = [path.stat().st_size for path in noted.project.store.glob("batch-*/payloads/*.pkl")]
    assert len(sizes) == 3
    assert max(sizes) < 5_000
    (shared,) = noted.project.store.glob("batch-*/shared/payload.pkl")
    assert shared.stat().st_size > 300_000
