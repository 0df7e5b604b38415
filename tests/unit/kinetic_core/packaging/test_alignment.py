from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.model.listing import Listed
from kinetic_core.packaging.alignment import Stretch, align

ROWS = st.builds(
    lambda versions: [(name, (), version, 0) for name, version in sorted(versions.items())],
    st.dictionaries(st.text("abc", max_size=4), st.integers(0, 1), max_size=40),
)


@given(rows=ROWS, earlier=ROWS)
def test_a_row_is_copied_just_when_it_stands_in_the_earlier_listing(rows: list[Listed], earlier: list[Listed]) -> None:
    stretches = list(align(rows, earlier))
    assert [index for stretch in stretches for index in range(stretch.start, stretch.stop)] == list(range(len(rows)))
    for start, stop, there in stretches:
        assert start < stop
        if there is None:
            assert not set(rows[start:stop]) & set(earlier)
        else:
            assert rows[start:stop] == earlier[there : there + stop - start]


def test_what_is_unchanged_is_one_stretch_however_long() -> None:
    rows: list[Listed] = [(f"{number:06}", (), 0, 0) for number in range(10_000)]
    assert list(align(rows, list(rows))) == [Stretch(0, 10_000, 0)]


def test_one_edit_among_many_costs_few_comparisons() -> None:
    class Counted(str):
        compared = 0
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    def listing(edited: int) -> list[Listed]:
        return [(Counted(f"{number:06}"), (), int(number == edited), 0) for number in range(4096)]

    assert len(list(align(listing(1234), listing(4000)))) == 5
    assert Counted.compared < 3 * 4096
