"""The family of errors, as applications catch it."""

import pickle

import pytest

import kinetic
from kinetic_core import errors
from kinetic_core.errors import BatchError, KineticError, RemoteError

CONTRACT = {
    "ConfigError": ValueError,
    "PackagingError": ValueError,
    "SerializationError": ValueError,
    "SubmissionError": RuntimeError,
    "PreflightError": RuntimeError,
    "JobFailedError": RuntimeError,
    "JobCancelledError": RuntimeError,
    "PluginError": RuntimeError,
    "JobNotFoundError": LookupError,
    "ResultUnavailableError": RuntimeError,
    "BatchError": RuntimeError,
    "RemoteError": RuntimeError,
    "ResultTimeoutError": TimeoutError,
    "DataNotFoundError": FileNotFoundError,
    "UsageError": TypeError,
}


@pytest.mark.parametrize(("name", "built_in"), CONTRACT.items())
def test_each_error_is_ours_and_the_built_in_of_the_contract(name: str, built_in: type[Exception]) -> None:
    error = getattr(kinetic, name)
    assert issubclass(error, KineticError)
    assert issubclass(error, built_in)


def test_a_cancelled_job_is_a_failed_one() -> None:
    assert issubclass(kinetic.JobCancelledError, kinetic.JobFailedError)


def test_every_error_has_a_built_in_among_its_bases() -> None:
    types = [item for item in vars(errors).values() if isinstance(item, type) and item.__module__ == errors.__name__]
    ours = [item for item in types if item is not KineticError]
    assert ours
    for error in ours:
        assert issubclass(error, KineticError)
        assert any(
            base.__module__ == "builtins" and base not in (Exception, BaseException) for base in error.mro()[:-3]
        )


def test_a_batch_error_keeps_what_is_known_of_the_batch() -> None:
    error = BatchError("1 of 2", group_id="batch-0a1b2c3d", submission_failures={1: ValueError()}, partial_results=[4])
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert (str(one), one.group_id, one.failures, one.partial_results) == ("1 of 2", "batch-0a1b2c3d", [], [4])
        assert [type(failure) for failure in one.submission_failures.values()] == [ValueError]


def test_a_remote_error_keeps_what_is_known_of_the_other() -> None:
    error = RemoteError("QuotaError: none", type_name="job.QuotaError", message="none", traceback="Traceback …")
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert (str(one), one.type_name, one.message) == ("QuotaError: none", "job.QuotaError", "none")
        assert one.traceback == "Traceback …"
