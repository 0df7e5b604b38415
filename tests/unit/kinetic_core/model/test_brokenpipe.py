"""What a write sends where nobody reads, held back."""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from kinetic_core.model.brokenpipe import broken_pipe_is_an_error


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """Return the signals of broken pipes that an application gets."""
    signals: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        signals.append(number)

    before = signal.signal(signal.SIGPIPE, note)
    yield signals
    signal.signal(signal.SIGPIPE, before)


@pytest.fixture
def broken() -> Iterator[int]:
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def test_an_error_tells_of_it_and_no_signal(heard: list[int], broken: int) -> None:
    with pytest.raises(BrokenPipeError), broken_pipe_is_an_error():
        os.write(broken, b"x")
    assert heard == []
    assert signal.SIGPIPE not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_an_error_that_is_caught_within_leaves_no_signal_either(heard: list[int], broken: int) -> None:
    with broken_pipe_is_an_error(), contextlib.suppress(BrokenPipeError):
        os.write(broken, b"x")
    assert heard == []


def test_what_the_application_holds_back_itself_stays_so(heard: list[int], broken: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        with pytest.raises(BrokenPipeError):
            os.write(broken, b"x")
        with pytest.raises(BrokenPipeError), broken_pipe_is_an_error():
            os.write(broken, b"x")
        assert signal.SIGPIPE in signal.sigpending()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPIPE})
    assert heard == [signal.SIGPIPE]


def test_where_somebody_reads_nothing_happens(heard: list[int]) -> None:
    reading, writing = os.pipe()
    with broken_pipe_is_an_error():
        os.write(writing, b"x")
    assert (os.read(reading, 2), heard) == (b"x", [])
    os.close(reading)
    os.close(writing)
