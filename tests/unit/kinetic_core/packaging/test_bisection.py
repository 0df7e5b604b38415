import collections
import contextvars
import functools
import pickle
import socket
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.errors import SerializationError
from tests.unit.kinetic_core.packaging.projects import Project

LOCK = threading.Lock()


def noop(*args: Any, **kwargs: Any) -> None:
    """Take anything."""


class Client:
    """Holds what cannot travel in an attribute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def use(self) -> None:
        """Do nothing."""


class Holder:
    """Holds anything."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class Named:
    """Has a repr that is the same in every process."""

    def __init__(self, item: object) -> None:
        self.item = item

    def __repr__(self) -> str:
        return "<named>"


class Slotted:
    """Holds it in slots, some of them private and some empty."""

    __slots__ = ("empty", "__hidden")  # noqa: RUF023 - the empty one first

    def __init__(self, hidden: object) -> None:
        self.__hidden = hidden


class OneSlot:
    """Has a single slot, written as text."""

    __slots__ = "only"  # noqa: PLC0205 - as some write it

    def __init__(self, only: object) -> None:
        self.only = only


class Failing:
    """Raises when it is pickled."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> Any:
        raise self._error


class UnspeakableError(Exception):
    """Has no text and raises when asked for it."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def refusal(project: Project, function: Callable[..., Any], *args: Any, **kwargs: Any) -> SerializationError:
    """Return the error of a call that cannot travel."""
    with pytest.raises(SerializationError) as caught:
        project.package(function, *args, **kwargs)
    assert caught.value.__cause__ is not None
    return caught.value


def culprit(project: Project, function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Return where the message says that the culprit is."""
    return str(refusal(project, function, *args, **kwargs)).partition("; the culprit is ")[2]


def test_an_argument_is_named_by_position_and_type(project: Project) -> None:
    with socket.socket() as connection:
        message = str(refusal(project, noop, 1, "a", connection))
    assert message.startswith("kinetic could not serialize argument 2 (type socket): TypeError: cannot pickle")
    assert "open or build it inside the function, pass a path to what it holds, or use kinetic.Data" in message
    assert message.endswith("; the culprit is argument 2 (type socket)")


def test_a_keyword_argument_is_named(project: Project) -> None:
    message = str(refusal(project, noop, first=1, client=Client()))
    assert message.startswith("kinetic could not serialize keyword argument 'client' (type Client): ")
    assert message.endswith("; the culprit is keyword argument 'client'._lock (type lock)")


def test_the_function_is_named(project: Project) -> None:
    lock = threading.Lock()

    def train() -> None:
        lock.acquire()

    message = str(refusal(project, train))
    assert message.startswith("kinetic could not serialize the function 'train' (type function): ")
    assert message.endswith(f"; the culprit is closure variable 'lock' of {train.__qualname__} (type lock)")


def test_a_callable_instance_and_a_partial_are_named_by_type_and_function(project: Project) -> None:
    class Trainer(Client):
        def __call__(self) -> None:
            """Do nothing."""

    assert "the function 'Trainer' (type Trainer): " in str(refusal(project, Trainer()))
    message = str(refusal(project, functools.partial(noop, threading.Lock())))
    assert message.startswith("kinetic could not serialize the function 'noop' (type partial): ")
    assert message.endswith("the culprit is the function 'noop'.args[0] (type lock)")
    assert culprit(project, functools.partial(noop, a=LOCK)) == "the function 'noop'.keywords['a'] (type lock)"
    assert culprit(project, functools.partial(Client().use)) == "the function 'use'.func.__self__._lock (type lock)"


@pytest.mark.parametrize(
    ("argument", "way"),
    [
        ({"db": {"conn": LOCK}}, "argument 0['db']['conn']"),
        ([1, (2, [LOCK])], "argument 0[1][1][0]"),
        (collections.deque([LOCK]), "argument 0[0]"),
        ({Named(LOCK)}, "argument 0{member <named>}.item"),
        ({(1, Named(LOCK)): 1}, "argument 0{key (1, <named>)}[1].item"),
        (Holder(client=Client()), "argument 0.client._lock"),
        (Slotted(LOCK), "argument 0._Slotted__hidden"),
        (OneSlot([LOCK]), "argument 0.only[0]"),
        (ValueError("x", LOCK), "argument 0.args[1]"),
        (collections.OrderedDict(a=LOCK), "argument 0['a']"),
        (Holder(method=Client().use), "argument 0.method.__self__._lock"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_way_to_the_culprit_is_written_down(project: Project, argument: Any, way: str) -> None:
    assert culprit(project, noop, argument) == f"{way} (type lock)"


@pytest.mark.parametrize(
    ("source", "way", "by"),
    [
        ("LOCK = Lock()\ndef f(): return LOCK", "global 'LOCK' of module trainer.util", ""),
        ("class C:\n    lock = Lock()\ndef f(): return C", "attribute 'lock' of class C", "C"),
        ("class B:\n    lock = Lock()\nclass C(B): pass\ndef f(): return C", "attribute 'lock' of class B", "C"),
        ("def f(a, b=Lock()): pass", "default value 'b' of f", ""),
        ("def f(*, b=Lock()): pass", "default value 'b' of f", ""),
        ("def f(): pass\nf.lock = Lock()", "attribute 'lock' of f", ""),
        ("def f(x: Lock()): pass", "annotation 'x' of f", ""),
        (
            "STATE = {'a': [Lock()]}\ndef g(): return STATE\ndef f(): return g()",
            "global 'STATE' of module trainer.util['a'][0]",
            "g",
        ),
        ("from trainer import other\ndef f(): return other.LOCK", "global 'LOCK' of module trainer.other", "other"),
        ("class C:\n    @property\n    def p(self, x=Lock()): pass\ndef f(): C", "default value 'x' of C.p", "C"),
        ("class C:\n    @staticmethod\n    def p(x=Lock()): pass\ndef f(): C", "default value 'x' of C.p", "C"),
    ],
)
def test_what_the_function_captures_is_named(project: Project, source: str, way: str, by: str) -> None:
    project.write(
        {
            "trainer/__init__.py": "",
            "trainer/other.py": "import threading\nLOCK = threading.Lock()",
            "trainer/util.py": f"from threading import Lock\n{source}",
        }
    )
    entered = f", by way of global {by!r} of module trainer.util" if by else ""
    assert culprit(project, project.load("trainer.util").f) == f"{way} (type lock){entered}"


def test_context_variables_and_single_dispatch_functions_are_named_as_globals(project: Project) -> None:
    project.write(
        {
            "job.py": """
                import contextvars, functools
                CONTEXT = contextvars.ContextVar("c")
                @functools.singledispatch
                def show(x): return x
                def f(): return CONTEXT.get()
                def g(): return show(1)
            """
        }
    )
    job = project.load("job")
    assert isinstance(job.CONTEXT, contextvars.ContextVar)
    assert culprit(project, job.f) == "global 'CONTEXT' of module job (type ContextVar)"
    message = str(refusal(project, job.g))
    assert message.startswith("kinetic could not serialize the function 'g' (type function): ")
    assert message.endswith(", by way of global 'show' of module job")


def test_a_module_that_is_innocent_is_searched_and_left(project: Project) -> None:
    project.write({"helpers.py": "A = 1", "job.py": "import helpers\nC = [[[]]]\ndef f(): return helpers.A, C"})
    job = project.load("job")
    job.C[0][0].append(threading.Lock())
    assert culprit(project, job.f) == "global 'C' of module job[0][0][0] (type lock)"


def test_a_failure_in_what_a_late_reader_adds_to_a_module_is_the_functions(project: Project) -> None:
    project.write(
        {
            "helpers.py": "import threading\nA = 1\nLOCK = threading.Lock()",
            "job.py": "import helpers\ndef f(late): return helpers.A",
            "later.py": "import helpers\ndef g(): return helpers.LOCK",
        }
    )
    message = str(refusal(project, project.load("job").f, project.load("later").g))
    assert message.startswith("kinetic could not serialize the function 'f' (type function): ")
    assert "the culprit is global 'LOCK' of module helpers (type lock)" in message


@pytest.mark.parametrize("with_other", [False, True])
def test_a_list_of_twenty_thousand_levels_is_refused_by_name(project: Project, *, with_other: bool) -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    error = refusal(project, noop, Path("x") if with_other else 1, deep)
    assert str(error).startswith("kinetic could not serialize argument 1 (type list): it is nested too deeply")
    assert isinstance(error.__cause__, pickle.PicklingError | RecursionError)


def test_a_recursion_in_the_users_own_reduce_is_named(project: Project) -> None:
    message = str(refusal(project, noop, Failing(RecursionError("deep"))))
    assert message.startswith("kinetic could not serialize argument 0 (type Failing): it is nested too deeply")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (MemoryError(), "MemoryError without a message; "),
        (ValueError(" \n"), "ValueError without a message; "),
        (UnspeakableError(), "UnspeakableError without a message; "),
        (KeyError("k"), "KeyError: 'k'; "),
        (ValueError("x" * 9_000), f"ValueError: {'x' * 500}…; "),
    ],
)
def test_any_exception_of_the_users_code_becomes_a_cause(project: Project, error: Exception, cause: str) -> None:
    raised = refusal(project, noop, [Failing(error)])
    assert str(raised).startswith(f"kinetic could not serialize argument 0 (type list): {cause}")
    assert str(raised).endswith("the culprit is argument 0[0] (type Failing)")
    assert raised.__cause__ is error


class Making:
    """Makes what cannot travel only when it is pickled."""

    def __getstate__(self) -> object:
        return {"made": threading.Lock()}


def test_what_is_made_only_while_pickling_is_told_as_that(project: Project) -> None:
    assert culprit(project, noop, Making()) == "something that is made when it is pickled (type lock)"


def test_what_no_search_finds_is_placed_by_the_global_that_was_written(project: Project) -> None:
    project.write(
        {
            "job.py": """
                import threading
                class Making:
                    def __getstate__(self):
                        return {"made": threading.Lock()}
                M = Making()
                def f(): return M
            """
        }
    )
    assert culprit(project, project.load("job").f) == (
        "something that is made when it is pickled (type lock), by way of global 'M' of module job"
    )


class Hostile(list[Any]):
    """Raises when it is looked at."""

    def __iter__(self) -> Any:
        raise RuntimeError("do not look")

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Holder, (), {"lock": LOCK}


class HostileKey:
    """Raises when it is to be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("do not show")


def test_objects_that_raise_when_they_are_looked_at_spoil_no_message(project: Project) -> None:
    assert culprit(project, noop, Hostile([1])) == "something that is made when it is pickled (type lock)"
    assert culprit(project, noop, {HostileKey(): LOCK}) == "argument 0[<HostileKey>] (type lock)"


def test_long_keys_and_long_ways_are_shortened(project: Project) -> None:
    assert culprit(project, noop, {"k" * 100: LOCK}) == f"argument 0['{'k' * 59}…] (type lock)"
    linked = Holder(value=LOCK)
    for _ in range(20):
        linked = Holder(next=linked)
    assert culprit(project, noop, linked) == ("argument 0.next.next…(16 more steps)….next.next.value (type lock)")


def test_a_cycle_is_searched_once(project: Project) -> None:
    cycle: list[Any] = [Holder()]
    cycle.append(cycle)
    cycle.append({"lock": LOCK})
    assert culprit(project, noop, cycle) == "argument 0[2]['lock'] (type lock)"


def test_nothing_is_pickled_a_second_time_to_find_the_culprit(project: Project) -> None:
    counted: list[int] = []

    class Counted:
        def __reduce__(self) -> Any:
            counted.append(1)
            return int, ()

    refusal(project, noop, Counted(), [Counted(), LOCK])
    assert len(counted) == 2


def test_the_search_keeps_no_copy_of_the_payload(project: Project) -> None:
    argument = {"blob": bytes(20_000_000), "numbers": list(range(100_000)), "lock": LOCK}
    tracemalloc.start()
    try:
        refusal(project, noop, argument)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000


class MakingOurs:
    """Makes a lock of this module, which its own code reads."""

    def __getstate__(self) -> object:
        return {"made": LOCK}


def test_the_search_does_not_enter_code_that_travels_by_reference(project: Project) -> None:
    argument = [MakingOurs, MakingOurs(), refusal]
    assert culprit(project, noop, argument) == "something that is made when it is pickled (type lock)"
