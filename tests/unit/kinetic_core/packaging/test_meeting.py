"""What a pickler has to stop at."""

import copyreg
import pathlib
import typing
import weakref
from collections import Counter, OrderedDict, defaultdict, namedtuple
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kinetic_core.packaging.meeting import Meeting, ReferenceMet, can_be_met, meeting_with
from tests.unit.kinetic_core.packaging.projects import Project


class Mark:
    """What travels as a reference."""


class SubMark(Mark):
    """One, too."""


class Deciding(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True


class Abstract(metaclass=Deciding):
    """Decides by itself what is an instance."""


class Point(typing.NamedTuple):
    x: Any


Pair = namedtuple("Pair", "one two")  # noqa: PYI024 - the untyped ones are looked at too


class Proxy:
    """Says that it is a mark."""

    @property
    def __class__(self) -> Any:
        return Mark

    @__class__.setter
    def __class__(self, _: Any) -> None:
        raise AttributeError


class Forwarding:
    """Answers as something else may."""

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


class Plain(list[Any]):
    """Hides nothing."""


class Ordered(OrderedDict[str, Any]):
    """Hides nothing."""


class Reduced(list[Any]):
    def __reduce__(self) -> Any:
        return list, ()


class Iterated(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Items(dict[str, Any]):
    def items(self) -> Any:
        return ()


class NewArgs(tuple[Any, ...]):
    __slots__ = ()

    def __getnewargs__(self) -> Any:
        return ()


class Registered(list[Any]):
    """Is pickled by a function that somebody registered."""


@pytest.mark.parametrize("kind", [Mark, pathlib.Path, SubMark])
def test_a_class_of_its_own_can_be_met(kind: type) -> None:
    assert can_be_met([kind])


@pytest.mark.parametrize("kind", [object, str, dict, int, Abstract, Mapping])
def test_what_a_pickler_writes_unasked_or_what_decides_itself_cannot_be_met(kind: type) -> None:
    assert not can_be_met([Mark, kind])


@pytest.mark.parametrize(
    ("kind", "meeting"),
    [
        (Mark, Meeting.ALWAYS),
        (SubMark, Meeting.ALWAYS),
        (Proxy, Meeting.ASK),
        (weakref.ProxyType, Meeting.ASK),
        (Forwarding, Meeting.ASK),
        (pathlib.PurePosixPath, Meeting.NEVER),
        (Plain, Meeting.NEVER),
        (Ordered, Meeting.NEVER),
        (Point, Meeting.NEVER),
        (Pair, Meeting.NEVER),
        (Counter, Meeting.NEVER),
        (defaultdict, Meeting.NEVER),
        (Reduced, Meeting.ALWAYS),
        (Iterated, Meeting.ALWAYS),
        (Items, Meeting.ALWAYS),
        (NewArgs, Meeting.ALWAYS),
    ],
)
def test_references_stop_it_and_so_do_containers_that_may_hide_one(kind: type, meeting: Meeting) -> None:
    assert meeting_with(kind, (Mark,)) is meeting
    assert meeting_with(kind, ()) is Meeting.NEVER


def test_a_container_that_a_registered_function_pickles_may_hide_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(copyreg.dispatch_table, Registered, lambda _: (list, ()))
    assert meeting_with(Registered, (Mark,)) is Meeting.ALWAYS


@pytest.mark.parametrize("value", [Mark(), SubMark(), Proxy(), Reduced([Mark()]), {(Mark(),): 1}, {"a": Point(Mark())}])
def test_writing_stops_at_each(project: Project, value: Any) -> None:
    with pytest.raises(ReferenceMet):
        project.package_call(project.call(len, [value]), references=(Mark,))
    assert list(project.payload.parent.iterdir()) == []


def test_writing_stops_at_what_the_function_captures(project: Project) -> None:
    mark = Mark()
    with pytest.raises(ReferenceMet):
        project.package_call(project.call(lambda: mark), references=(Mark,))


def test_what_says_itself_that_it_is_none_is_written(project: Project) -> None:
    project.package_call(project.call(len, [Forwarding(), Point(1), Ordered(a=1)]), references=(Mark,))
    assert project.payload.exists()
