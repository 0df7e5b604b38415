"""Feeding a batch: inputs are taken from their iterable, and staged."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from kinetic.jobs.driving import Driving
from kinetic.jobs.lifecycle import InputState, Refusal
from kinetic.jobs.manifest import PAGE
from kinetic.scratch import scratch
from kinetic.submission.inputpayload import PayloadWriter
from kinetic.submission.inputs import bind_input
from kinetic.transfers import transfer
from kinetic_core.errors import StorageError
from kinetic_core.model.threads import Threads

_SIDE_BY_SIDE: Final = 8
_LOOK_S: Final = 0.5


class Feeder:
    """Takes the inputs of one batch; lives no longer than the process that has them."""

    def __init__(self, inputs: Iterable[Any], *, mode: str, writer: PayloadWriter, driving: Driving) -> None:
        """Take nothing yet.

        Args:
            inputs: Any iterable.
            mode: How an input becomes arguments.
            writer: Of their payloads.
            driving: Is told of each input that was staged.
        """
        self._inputs = inputs
        self._mode = mode
        self._writer = writer
        self._driving = driving
        self._driver = driving.driver
        self._manifest = driving.driver.manifest

    def feed_all(self) -> None:
        """Stage all inputs, here and now.

        Raises:
            StorageError: The store failed; what was staged before stays.
        """
        what, store = f"inputs of {self._writer.record.group_id}", self._writer.store
        with (
            transfer("upload", what, store, size_bytes=None) as moving,
            scratch() as directory,
            Threads(_SIDE_BY_SIDE) as pool,
        ):
            source = self._numbered()
            while batch := list(islice(source, PAGE)):
                self._stage(batch, directory, moving.put_file, each=pool.map)
        self._end()

    def feed_slowly(self) -> None:
        """Stage inputs in the background, each when there is room for a job of it."""
        threading.Thread(target=self._feed_slowly, name="kinetic-inputs", daemon=True).start()

    def _feed_slowly(self) -> None:
        try:
            with scratch() as directory:
                for item in self._numbered(wait=self._wait_for_room):
                    self._stage([item], directory, self._writer.store.put_file, each=map)
                    self._driving.wake()
        except BaseException as error:  # noqa: BLE001  whoever waits must learn of it
            self._driver.end(None)
            self._driving.fail(error)
        else:
            if self._driver.stop_reason is None:
                self._end()
            else:
                self._driver.end(len(self._driver.states))
        self._driving.wake()

    def _wait_for_room(self) -> bool:
        """Wait until another input may be taken; `False` when none is wanted any more."""
        while self._driver.room() <= 0:
            if self._driver.stop_reason is not None:
                return False
            self._driving.wait_for_change(_LOOK_S)
        return True

    def _numbered(self, wait: Callable[[], bool] = lambda: True) -> Iterator[tuple[int, Any]]:
        """Yield the inputs with their places; an iterable that fails ends in its exception as the last input."""
        index = 0
        try:
            source = iter(self._inputs)
            while wait():
                yield index, next(source)
                index += 1
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001  the iterable is the user's
            error.add_note(f"raised by the iterable of inputs, after {index}")
            yield index, _Broken(error)

    def _stage(
        self,
        items: Sequence[tuple[int, Any]],
        directory: Path,
        put_file: Callable[[Path, str], None],
        *,
        each: Callable[..., Iterable[Any]],
    ) -> None:
        states = [self._written(index, value, directory) for index, value in items]
        paths = [(state, directory / f"{state.index}{self._writer.record.suffix}") for state in states]
        staged = [(state, path) for state, path in paths if state.refusal is None]
        for _ in each(lambda pair: self._put(put_file, *pair), staged):
            pass
        page = items[0][0] // PAGE
        earlier = self._driver.states[page * PAGE :]
        self._manifest.write_inputs(page, [*earlier, *states])
        self._driver.add(states)

    def _put(self, put_file: Callable[[Path, str], None], state: InputState, path: Path) -> None:
        put_file(path, self._writer.record.payload_key(state.index))
        path.unlink()

    def _written(self, index: int, value: Any, directory: Path) -> InputState:
        try:
            args, kwargs = value.arguments() if isinstance(value, _Broken) else bind_input(value, self._mode)
            artifact = self._writer.write(index, args, kwargs, directory)
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001  an input that cannot travel is told with the others
            self._driver.errors[index] = error
            return InputState(index=index, refusal=Refusal(type_name=type(error).__name__, message=str(error)))
        return InputState(index=index, sha256=artifact.sha256, size_bytes=artifact.size_bytes)

    def _end(self) -> None:
        count = len(self._driver.states)
        self._manifest.write_end(count)
        self._driver.end(count)


class _Broken:
    """Stands for the input that an iterable raised in the place of."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        raise self._error


def size_of(inputs: Iterable[Any]) -> int | None:
    """Return how many inputs there are, where they say so; those of an iterator are taken as they are needed."""
    return len(inputs) if isinstance(inputs, Collection) else None
