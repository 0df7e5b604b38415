"""Requests to Google's services, with the user's own credentials, and patience where a failure may pass."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from urllib.parse import quote

import attrs
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_exponential, wait_random

from kinetic_core.errors import ConfigError, SubmissionError
from kinetic_core.plugin import Logger
from kinetic_gke.building.answers import NOT_FOUND, UNAUTHORIZED, read_json, refusal_by, refusal_in, sentence
from kinetic_gke.building.services import Service
from kinetic_gke.cluster.refusal import Refusal

Json = Mapping[str, Any]

T = TypeVar("T")

_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
_ATTEMPTS: Final = 6
_PATIENCE_S: Final = 60.0
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 10.0
_TIMEOUT_S: Final = (10.0, 60.0)


@attrs.frozen(kw_only=True)
class Wish:
    """What is wanted of a service, for messages."""

    service: Service
    what: str
    """`start a build`."""
    role: str
    """Whoever has it may do this."""


@attrs.define(kw_only=True)
class Google:
    """One thread's way to the services, in the name of one project."""

    project: str
    session: Any = attrs.field(repr=False)
    log: Logger = attrs.field(repr=False)

    def ask(self, wish: Wish, path: str, *, body: Json | None = None, params: Mapping[str, str] | None = None) -> Json:
        """Get something, or post a body, with patience.

        Raises:
            SubmissionError: The service says no; one sentence.
        """
        return self.patiently(wish, lambda: self.once(wish, path, body=body, params=params))

    def find(self, wish: Wish, path: str) -> Json | None:
        """Get something; `None` where it is not there.

        Raises:
            SubmissionError: The service says no for another reason.
        """

        def found() -> Json | None:
            try:
                return self.once(wish, path)
            except Refusal as refusal:
                if refusal.status == NOT_FOUND:
                    return None
                raise

        return self.patiently(wish, found)

    def once(self, wish: Wish, path: str, *, body: Json | None = None, params: Mapping[str, str] | None = None) -> Json:
        """Make one request, without patience.

        Raises:
            Refusal: The service says no, or nothing.
        """
        answer: Json = read_json(self._text(wish.service, path, body=body, params=params))
        return answer

    def end_of(self, storage: Service, bucket: str, name: str, *, size_bytes: int) -> str:
        """Return the last bytes of an object, as text.

        Raises:
            Refusal: The store says no, or nothing.
        """
        path = f"storage/v1/b/{quote(bucket, safe='')}/o/{quote(name, safe='')}"
        return self._text(storage, path, params={"alt": "media"}, headers={"Range": f"bytes=-{size_bytes}"})

    def patiently(self, wish: Wish, call: Callable[[], T]) -> T:
        """Do something of several requests, and do it again as long as what stands against it may pass.

        Raises:
            SubmissionError: The service says no; one sentence.
        """
        pause = wait_exponential(multiplier=_FIRST_PAUSE_S, max=_LONGEST_PAUSE_S) + wait_random(0, _FIRST_PAUSE_S)
        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, Refusal) and error.may_pass),
            stop=stop_after_attempt(_ATTEMPTS) | stop_before_delay(_PATIENCE_S),
            wait=lambda state: max(pause(state), _asked_pause_s(state)),
            before_sleep=lambda state: self._tell(wish, state),
            reraise=True,
        )
        try:
            return retrying(call)
        except Refusal as refusal:
            told = sentence(refusal, wish.service, wish=wish.what, role=wish.role, project=self.project)
            raise SubmissionError(told) from refusal

    def _text(
        self,
        service: Service,
        path: str,
        *,
        body: Json | None = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> str:
        from google.auth.exceptions import GoogleAuthError, RefreshError

        url = f"{service.url}/{path}"
        method = "GET" if body is None else "POST"
        try:
            answer = self.session.request(method, url, json=body, params=params, headers=headers, timeout=_TIMEOUT_S)
        except RefreshError as error:
            raise refusal_by(error, 0 if error.retryable else UNAUTHORIZED) from error
        except (GoogleAuthError, OSError) as error:
            raise refusal_by(error) from error
        text: str = answer.text
        if answer.ok:
            return text
        raise refusal_in(answer.status_code, text, answer.headers.get("Retry-After"))

    def _tell(self, wish: Wish, state: RetryCallState) -> None:
        outcome = state.outcome
        error = str(outcome.exception()) if outcome is not None else ""
        self.log.info("google_request_repeated", wish=wish.what, attempt=state.attempt_number, error=error)


def find_credentials() -> Any:
    """Return the Application Default Credentials; whether they are good for anything shows when they are used.

    Raises:
        ConfigError: There are none.
    """
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        credentials, _ = google.auth.default(scopes=list(_SCOPES))
    except DefaultCredentialsError as error:
        raise ConfigError(
            "an image has to be built, and there are no Google credentials for that: log in with gcloud auth "
            "application-default login, or name an image with container_image="
        ) from error
    return credentials


@contextmanager
def open_google(project: str, log: Logger) -> Iterator[Google]:
    """Open a way to Google's services.

    Args:
        project: In whose name.
        log: Told of each request that is repeated.

    Raises:
        ConfigError: There are no credentials.
    """
    from google.auth.transport.requests import AuthorizedSession

    session: Any = AuthorizedSession(find_credentials())  # type: ignore[no-untyped-call]  # google-auth types it in part
    with session:
        yield Google(project=project, session=session, log=log)


def _asked_pause_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    return (error.retry_after_s or 0.0) if isinstance(error, Refusal) else 0.0
