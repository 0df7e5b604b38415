import typing
from collections.abc import Callable
from typing import Any

import pytest

from kinetic_core.packaging.annotations import portable_annotations
from kinetic_core.references.data import Data

NAME = "kinetic_core.references.data.Data"


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Data, NAME),
        (list[Data], f"list[{NAME}]"),
        (Data | None, f"{NAME} | None"),
        (dict[str, list[tuple[Data, ...]]], f"dict[str, list[tuple[{NAME}, ...]]]"),
        (Callable[[Data], int], f"collections.abc.Callable[[{NAME}], int]"),
        (typing.Annotated[int, Data], None),
    ],
)
def test_a_hint_that_names_one_of_our_classes_becomes_text(hint: Any, text: str | None) -> None:
    (portable,) = portable_annotations({"x": hint}, {"kinetic_core"}).values()
    assert isinstance(portable, str)
    assert text is None or portable == text


@pytest.mark.parametrize("hint", [int, "Data", list[int], Any, None, typing.Literal["kinetic_core"]])
def test_any_other_hint_is_passed_as_it_is(hint: Any) -> None:
    assert portable_annotations({"x": hint}, {"kinetic_core"})["x"] is hint
