"""One policy for trying again, whatever the store. What a store's own client would try again on its own is off."""

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from kinetic_core.plugin import Logger
from kinetic_core.wire.transience import may_pass
from kinetic_fsspec.failures import Masked, translated

if TYPE_CHECKING:
    from tenacity import Retrying

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Policy:
    """How often, and how long."""

    attempts: int = 7
    """Of one request, the first among them."""
    first_s: float = 0.5
    """Pause after the first failure; each is twice the one before, and up to a half longer at random."""
    longest_s: float = 15.0
    total_s: float = 180.0
    """No attempt begins later than this after the first."""
    sleep: Callable[[float], None] = time.sleep


@attrs.frozen(kw_only=True)
class Retries:
    """Tries requests again by a policy, and tells what failed in the end."""

    policy: Policy
    log: Logger = attrs.field(repr=False)
    masked: Masked

    def __call__(self, operation: str, where: str, call: Callable[[int], T], *, failure: Exception | None = None) -> T:
        """Return what the call returns.

        Args:
            operation: A verb, such as `read`.
            where: URL of the object.
            call: One request; told which attempt it is, from 1. It starts from the beginning each time.
            failure: Of a first attempt that was made elsewhere.

        Raises:
            ObjectNotFoundError: The object is absent.
            StorageError: The store refuses, or fails for good; names operation, object and attempts.
        """
        began_s, made = time.monotonic(), 1
        with translated(operation, where, attempts=lambda: made, masked=self.masked):
            if failure is None:
                try:
                    # Nearly all go well at once: what counts attempts costs as much as a small request.
                    return call(1)
                except Exception as error:  # noqa: BLE001 - it is raised again, now or after others
                    failure = error
            if may_pass(failure) is not True:
                raise failure
            failed: Exception | None = failure

            def attempt() -> T:
                nonlocal made, failed
                if failed is not None:
                    first, failed = failed, None
                    raise first
                made += 1
                return call(made)

            return self._repeating(operation, where, since_s=began_s)(attempt)

    def goes_well(self, operation: str, where: str, call: Callable[[], object]) -> bool:
        """Make a request once; tell whether it went well, where there is another way to do it.

        Args:
            operation: A verb, such as `write`.
            where: URL of the object.
            call: The request.

        Raises:
            StorageError: It failed in a way that would meet any other request, too.
        """
        with translated(operation, where, masked=self.masked):
            try:
                call()
            except Exception as error:
                if may_pass(error) is not True:
                    raise
                self._tell(operation, where, 1, error)
                return False
            return True

    def _repeating(self, operation: str, where: str, *, since_s: float) -> "Retrying":
        from tenacity import Retrying, retry_if_exception, stop_after_attempt, stop_before_delay

        policy = self.policy
        return Retrying(
            retry=retry_if_exception(lambda error: may_pass(error) is True),
            stop=stop_after_attempt(policy.attempts)
            | stop_before_delay(max(0.0, policy.total_s - (time.monotonic() - since_s))),
            wait=lambda state: self._pause_s(state.attempt_number),
            before_sleep=lambda state: self._tell_again(operation, where, state),
            sleep=policy.sleep,
            reraise=True,
        )

    def _pause_s(self, attempt: int) -> float:
        """Return a pause that no two clients share."""
        pause_s = min(self.policy.first_s * 2.0 ** (attempt - 1), self.policy.longest_s)
        return pause_s * random.uniform(1.0, 1.5)  # noqa: S311 - nobody gains by guessing it

    def _tell_again(self, operation: str, where: str, state: Any) -> None:
        self._tell(operation, where, state.attempt_number, state.outcome.exception())

    def _tell(self, operation: str, where: str, attempt: int, error: BaseException) -> None:
        self.log.info(
            "storage_request_repeated",
            operation=operation,
            url=where,
            attempt=attempt,
            error=self.masked(f"{type(error).__name__}: {error}"),
        )
