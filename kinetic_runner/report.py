"""Telling the client how it ended: the record, its serialisation, its upload."""

from pathlib import Path
from typing import Any, Final

from kinetic_core.wire.plain import plain_record
from kinetic_core.wire.result import Result
from kinetic_runner.delivery import Destination
from kinetic_runner.filenames import FileNames
from kinetic_runner.formats import Format
from kinetic_runner.invoke import Outcome, failure
from kinetic_runner.log import Log
from kinetic_runner.partfile import PartFile, UnwrittenError
from kinetic_runner.travel import HomePickler, portable, shortened_repr, stand_in, text_of, try_loading

SERIALIZATION: Final = "result serialization"
UPLOAD: Final = "result upload"
_MAX_TRIAL_BYTES: Final = 64 << 20
_MAX_SAID_CHARS: Final = 300


class Report:
    """Writes one record, in the format that the client reads."""

    def __init__(self, destination: Destination, *, form: Format, host_index: int, log: Log) -> None:
        """Take note of where to and how.

        Args:
            destination: Of the record.
            form: The one that the client reads.
            host_index: This host's.
            log: Told of what could not travel.
        """
        self._destination = destination
        self._form = form
        self._host_index = host_index
        self._log = log
        self.phase = SERIALIZATION

    def write(self, outcome: Outcome, phase: str, names: FileNames, *, terminated: bool = False) -> Outcome:
        """Write the record of an outcome.

        Args:
            outcome: How it ended.
            phase: Where it ended.
            names: Translates file names to the client's.
            terminated: Whether the pod was told to stop.

        Returns:
            The outcome as the client will see it: a value that cannot travel is a failure.

        Raises:
            Exception: The record cannot be stored.
        """
        self.phase = UPLOAD
        part = self._destination.part_file()
        try:
            self.phase = SERIALIZATION
            try:
                outcome = self._serialize(part, outcome, phase, names, terminated=terminated)
            except UnwrittenError as unwritten:
                self.phase = UPLOAD
                raise unwritten.as_os_error() from None
            self.phase = UPLOAD
            self._destination.publish(part, self._log)
        finally:
            part.unlink(missing_ok=True)
        return outcome

    def _serialize(self, part: Path, outcome: Outcome, phase: str, names: FileNames, *, terminated: bool) -> Outcome:
        if outcome.success:
            try:
                self._dump(part, self._record(outcome, phase, names), names, tried=True)
            except UnwrittenError:
                raise
            except BaseException as error:  # noqa: BLE001 - pickling and rebuilding run the user's code
                why = text_of(str, error)[:_MAX_SAID_CHARS]
                self._log.caution(f"the result, a {type(outcome.value).__qualname__}, cannot travel: {why}")
                failed = failure(error)
                record = self._record(failed, SERIALIZATION, names, result_repr=shortened_repr(outcome.value))
                self._dump(part, record, names)
                return failed
            return outcome
        self._dump(part, self._record(outcome, phase, names, terminated=terminated), names, said=outcome.said)
        return outcome

    def _record(self, outcome: Outcome, phase: str, names: FileNames, **more: Any) -> Result:
        traceback = None if outcome.traceback is None else names.text_to_client(outcome.traceback)
        return Result(
            success=outcome.success,
            result=outcome.value,
            exception=self._exception(outcome, traceback, names),
            traceback=traceback,
            phase=phase,
            host_index=self._host_index,
            serialization_failed="result_repr" in more,
            **more,
        )

    def _exception(self, outcome: Outcome, traceback: str | None, names: FileNames) -> BaseException | None:
        if outcome.error is None:
            return None
        if self._form.plain is not None:
            return outcome.error
        if not isinstance(outcome.error, Exception):
            return stand_in(outcome.error, traceback, text=outcome.said)
        return portable(outcome.error, traceback, names)

    def _dump(self, part: Path, record: Result, names: FileNames, *, tried: bool = False, said: str = "") -> None:
        if self._form.plain is not None:
            message = said or text_of(str, record.exception)
            data = self._form.plain.dump_result(plain_record(record, message))
            with PartFile(part) as stream:
                stream.write(data)
            return
        with PartFile(part) as stream:
            HomePickler(stream, names).dump(record.to_dict())
        if tried and part.stat().st_size <= _MAX_TRIAL_BYTES:
            # Larger ones may be as large as the memory that is left.
            with part.open("rb") as stream:
                try_loading(stream)
