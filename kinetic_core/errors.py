"""Every error this project raises on purpose.

```
KineticError
├── UsageError              (TypeError)          a call that is wrong by its shape
├── ConfigError             (ValueError)         a setting, argument or profile that cannot be used
├── PackagingError          (ValueError)         the project cannot be turned into artifacts
├── SerializationError      (ValueError)         an object cannot travel
├── SubmissionError         (RuntimeError)       the job could not be started
├── PreflightError          (RuntimeError)       store or backend refused before anything was uploaded
├── JobFailedError          (RuntimeError)       a job ended without a value
│   └── JobCancelledError
├── ResultTimeoutError      (TimeoutError)       the job is still running; its handle stays valid
├── JobNotFoundError        (LookupError)        no such job in the store that was searched
├── ResultUnavailableError  (RuntimeError)       the result was collected, or cannot be read here
├── BatchError              (RuntimeError)       some inputs of a batch failed
├── RemoteError             (RuntimeError)       a remote exception that cannot come home as itself
├── PluginError             (RuntimeError)       a plugin is broken, missing or misused
├── DataNotFoundError       (FileNotFoundError)  a `Data` names a local path that does not exist
└── StorageError            (OSError)            a store failed
    └── ObjectNotFoundError (FileNotFoundError)  a store holds nothing under that key
```

Each is also the built-in that people already catch. User code's own exceptions are never wrapped:
they are raised as themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Any


class KineticError(Exception):
    """Base of every error that this project raises on purpose."""


class UsageError(KineticError, TypeError):
    """A call that is wrong by its shape: an unknown keyword, a class where a function belongs."""


class ConfigError(KineticError, ValueError):
    """A setting, argument or profile whose value cannot be used."""


class PackagingError(KineticError, ValueError):
    """The project cannot be turned into artifacts."""


class SerializationError(KineticError, ValueError):
    """An object cannot travel; the message names it and the path to it."""


class SubmissionError(KineticError, RuntimeError):
    """The job could not be started; the message names the step that failed."""


class PreflightError(KineticError, RuntimeError):
    """A store or a backend refused before anything was uploaded."""


class JobFailedError(KineticError, RuntimeError):
    """A job ended without a value; the message says how it ended."""


class JobCancelledError(JobFailedError):
    """The job was cancelled before it ended."""


class ResultTimeoutError(KineticError, TimeoutError):
    """The job did not end in the time given; it goes on and its handle stays valid."""


class JobNotFoundError(KineticError, LookupError):
    """No such job in the store that was searched."""


class ResultUnavailableError(KineticError, RuntimeError):
    """The job ended, but its result was collected already or cannot be read here."""


class BatchError(KineticError, RuntimeError):
    """Some inputs of a batch have no result.

    >>> error = BatchError("1 of 2 inputs failed", group_id="batch-0a1b2c3d", partial_results=[4, None])
    >>> error.group_id, error.partial_results, error.failures
    ('batch-0a1b2c3d', [4, None], [])
    """

    def __init__(
        self,
        text: str = "",
        *,
        group_id: str = "",
        failures: Sequence[Any] = (),
        submission_failures: Mapping[int, Exception] | None = None,
        partial_results: Sequence[Any] = (),
    ) -> None:
        """Take what is known of the batch.

        Args:
            text: This exception's own message.
            group_id: Of the batch.
            failures: Handles of the jobs that failed for good.
            submission_failures: Why inputs were never submitted, by their place among the inputs.
            partial_results: The values that there are: aligned with the inputs, `None` where there is none; or the
                successes alone in the order of their completion, where that was asked for.
        """
        super().__init__(text)
        self.group_id = group_id
        self.failures = list(failures)
        self.submission_failures = dict(submission_failures or {})
        self.partial_results = list(partial_results)


class RemoteError(KineticError, RuntimeError):
    """A remote exception that cannot come home as itself.

    >>> error = RemoteError("QuotaError: none left", type_name="job.QuotaError", message="none left")
    >>> error.type_name, error.message, error.traceback
    ('job.QuotaError', 'none left', None)
    """

    def __init__(self, text: str = "", *, type_name: str = "", message: str = "", traceback: str | None = None) -> None:
        """Take what is known of the other exception.

        Args:
            text: This exception's own message.
            type_name: Module and qualified name of the other's type; empty where nobody told.
            message: The other's message.
            traceback: The other's traceback, formatted, with its causes and contexts.
        """
        super().__init__(text)
        self.type_name = type_name
        self.message = message
        self.traceback = traceback


class PluginError(KineticError, RuntimeError):
    """A plugin is broken, missing or misused."""


class DataNotFoundError(KineticError, FileNotFoundError):
    """A `Data` names a local path that does not exist."""


class StorageError(KineticError, OSError):
    """A store failed; the message names the operation and the key."""

    problem: str = ""
    """What kind of failure: `bucket`, `clock`, `credentials`, `network` or `permission`; empty where nobody knows."""


class ObjectNotFoundError(StorageError, FileNotFoundError):
    """A store holds nothing under that key."""
