from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.model.package import PayloadComponent
from kinetic_core.packaging.weighing import Scale, Weighed


def test_what_an_inner_item_adds_is_not_the_outer_ones() -> None:
    written = bytearray()
    scale = Scale(lambda: len(written))
    for _ in scale.weigh([("outer", 1)]):
        written += b"12"
        for _ in scale.weigh([("inner", 1), ("inner", 2)]):
            written += b"345"
        written += b"6"
    assert {part.name: part.size_bytes for part in scale.components()} == {"inner": 6, "outer": 3}


def test_the_path_tells_what_is_being_written() -> None:
    scale = Scale(lambda: 0)
    inside: list[tuple[str, ...]] = []
    for _ in scale.weigh([("outer", 1)]):
        inside += [scale.path for _ in scale.weigh([("inner", 1)])]
        inside += [scale.path]
    assert inside == [("outer", "inner"), ("outer",)]
    assert list(scale.path) == []


def test_what_weighs_nothing_is_left_out() -> None:
    scale = Scale(lambda: 0)
    assert list(scale.weigh([("empty", "item")])) == ["item"]
    assert scale.components() == ()


@given(st.recursive(st.integers(0, 9), lambda inner: st.lists(inner, max_size=4)))
def test_all_weights_add_up_to_what_was_written(tree: object) -> None:
    written = bytearray()
    scale = Scale(lambda: len(written))

    def write(name: str, node: object) -> None:
        if isinstance(node, int):
            written.extend(bytes(node))
        else:
            for child in scale.weigh(named(name, node)):
                write(f"{name}.", child)

    def named(name: str, children: object) -> Iterator[tuple[str, object]]:
        assert isinstance(children, list)
        return ((f"{name}{index}", child) for index, child in enumerate(children))

    write("", [tree])
    weights = [part.size_bytes for part in scale.components()]
    assert sum(weights) == len(written)
    assert weights == sorted(weights, reverse=True)


def test_nothing_is_weighed_before_somebody_looks_and_then_it_is_once() -> None:
    heavy, light = PayloadComponent(name="argument 0", size_bytes=9), PayloadComponent(name="argument 1", size_bytes=1)
    weighings = []

    def weigh() -> tuple[PayloadComponent, ...]:
        weighings.append(1)
        return heavy, light

    weighed = Weighed(weigh)
    assert repr(weighed) == "Weighed(…)"
    assert weighings == []
    assert (len(weighed), weighed[0], weighed[1:], [*weighed]) == (2, heavy, (light,), [heavy, light])
    assert weighings == [1]
    assert repr(weighed) == f"Weighed{(heavy, light)!r}"
