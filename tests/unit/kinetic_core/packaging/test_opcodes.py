import pickle
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.packaging.opcodes import exact_weights
from tests.unit.kinetic_core.packaging.projects import Project


def weights(project: Project, function: Any, *args: Any, **kwargs: Any) -> dict[str, int]:
    """Return the weights of a small payload's parts."""
    return {part.name: part.size_bytes for part in project.package(function, *args, **kwargs).components}


def test_the_parts_of_a_small_payload_are_weighed_to_the_byte(project: Project) -> None:
    project.write({"job.py": "DF = bytes(900)\ndef f(a, b, *, key): return len(DF)"})
    found = weights(project, project.load("job").f, bytes(200), [1, 2], key="x" * 50)
    # Opcode, length, content, a mark in the memo.
    assert found["argument 0"] == 2 + 200 + 1
    assert found["argument 1"] == len(b"]\x94(K\x01K\x02e")
    assert found["keyword argument 'key'"] == len(b"h\x00") + 2 + 50 + 1
    assert 900 < found["global 'DF' of module job"] < 920
    assert found["the function 'f'"] > 300


def test_globals_of_a_module_object_are_weighed_each_under_its_own_name(project: Project) -> None:
    project.write(
        {
            "helpers.py": "BLOB = bytes(900)\nTINY = 1\ndef name(): return __name__, __file__",
            "job.py": "import helpers\ndef f(): return helpers.BLOB, helpers.TINY, helpers.name()",
        }
    )
    found = weights(project, project.load("job").f)
    assert 900 < found["global 'BLOB' of module helpers"] < 920
    assert found["global 'TINY' of module helpers"] < 20
    assert not [label for label in found if "'__" in label]


def test_containers_that_look_alike_are_told_apart_or_left_alone(project: Project) -> None:
    class Odd:
        def __reduce__(self) -> Any:
            return dict, (), None, None, iter([("a", 1), ("b", 2)])

    found = weights(project, lambda *args: None, OrderedDict(a=1, b=2), bytes(200))
    assert found["argument 1"] == 203
    assert weights(project, lambda *args: None, Odd(), bytes(200)) == {}


def test_more_arguments_than_a_batch_are_weighed_coarsely(project: Project) -> None:
    assert weights(project, lambda *args: None, *range(1_200)) == {}


def test_a_payload_of_many_opcodes_is_weighed_coarsely(project: Project) -> None:
    assert weights(project, lambda *args: None, list(range(20_000))) == {}


def test_a_state_that_is_set_afterwards_belongs_to_its_item(project: Project) -> None:
    class Local:
        def __init__(self, **attributes: Any) -> None:
            vars(self).update(attributes)

    found = weights(project, lambda *args: None, Local(blob=bytes(500)), Local(blob=bytes(300)), 5)
    assert found["argument 2"] == 2
    assert found["argument 0"] > found["argument 1"] > 300


def test_labels_that_do_not_fit_the_opcodes_give_nothing() -> None:
    assert exact_weights(pickle.dumps({"func": 1}, protocol=5), ["a", "b"], "func") is None


LEAVES = st.one_of(st.integers(), st.binary(max_size=300), st.text(max_size=20), st.none(), st.floats())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.tuples(inner, inner), st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_any_arguments_weigh_what_they_take_alone(values: list[Any]) -> None:
    class Wrapped:
        def __init__(self, *reduction: Any) -> None:
            self.reduction = reduction

        def __reduce__(self) -> Any:
            return self.reduction

    def items() -> Iterator[Any]:
        yield None
        yield from values

    payload = Wrapped(dict, (), None, None, iter([("args", Wrapped(list, (), None, items())), ("func", 0)]))
    content = pickle.dumps(payload, protocol=5)
    labels = [f"argument {index}" for index in range(len(values))]
    found = exact_weights(content, [*labels, "function"], "func")
    assert found is not None
    assert found["function"] == len("func") + 3 + 2
    assert sum(found.values()) < len(content)
    for label, value in zip(labels, values, strict=True):
        alone = len(pickle.dumps(value, protocol=5)) - len(pickle.dumps(None, protocol=5)) + 1
        # Shared text is written once; a frame may begin and a memo's number grow inside.
        assert 0 < found[label] <= alone + 32


@pytest.mark.parametrize("size", [600_000, 3_000_000])
def test_a_large_payload_is_weighed_by_its_frames(project: Project, size: int) -> None:
    found = weights(project, lambda *args: None, bytes(size), 1)
    assert list(found) == ["argument 0"]
    assert abs(found["argument 0"] - size) < 1 << 16
