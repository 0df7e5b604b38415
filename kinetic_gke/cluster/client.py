"""The client: every request to one cluster, with patience where a failure may pass, and answers as plain JSON."""

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import attrs
from kubernetes import client as kubernetes
from kubernetes.watch.watch import iter_resp_lines
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_before_delay
from urllib3.connection import HTTPConnection
from urllib3.util import Retry, make_headers

from kinetic_core.plugin import Logger
from kinetic_gke.cluster.access import Access
from kinetic_gke.cluster.asking import Asking
from kinetic_gke.cluster.refusal import OF_THE_CLIENT, ClusterError, Refusal, explained, read_refusal, refusal_of
from kinetic_gke.cluster.tunnel import Tunnel, open_tunnel

Json = Mapping[str, Any]

T = TypeVar("T")

_UNAUTHORIZED: Final = 401
_OK: Final = range(200, 300)
_ATTEMPTS: Final = 6
_PATIENCE_S: Final = 60.0
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 10.0
_CONNECTIONS: Final = 64
_CONNECT_S: Final = 10.0
_READ_S: Final = 60.0
_STREAM_SLACK_S: Final = 30.0
# A stream whose other end is gone without a word is known to be within a minute, where the platform can.
_KEEP_ALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
)


@attrs.frozen(kw_only=True)
class Apis:
    """The client's interfaces, untyped: its generations take and return other types."""

    api: Any
    batch: Any
    core: Any
    authorization: Any


class Client:
    """Requests to one cluster. Safe to share between threads; two of them never mix."""

    def __init__(self, access: Access, log: Logger) -> None:
        """Connect at the first request.

        Args:
            access: To the cluster.
            log: Told of each request that is repeated.
        """
        self.access = access
        self._log = log
        self._lock = threading.Lock()
        self._apis: Apis | None = None
        self._asking = Asking()
        self._sleep: Callable[[float], None] = time.sleep

    def ask(self, wish: str, call: Callable[[Apis, Mapping[str, Any]], Any], *, attempts: int = _ATTEMPTS) -> Json:
        """Make a request and return the answer's JSON.

        Args:
            wish: What is wanted, for messages: `create the Job`.
            call: Makes it, with the keyword arguments that it is handed.
            attempts: How often at most.

        Raises:
            Refusal: The server says no.
            ClusterError: There is no way to the cluster.
        """
        options = {"_preload_content": False, "_request_timeout": (_CONNECT_S, _READ_S)}
        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, Refusal) and error.may_pass),
            stop=stop_after_attempt(attempts) | stop_before_delay(_PATIENCE_S),
            wait=_pause_s,
            before_sleep=lambda state: self._tell(wish, state),
            sleep=self._sleep,
            reraise=True,
        )
        return retrying(lambda: self._answer(lambda apis: call(apis, options)))

    def found(self, wish: str, call: Callable[[Apis, Mapping[str, Any]], Any]) -> Json | None:
        """Make a request for something; `None` where it is not there.

        Raises:
            ClusterError: The server says no for another reason.
        """
        try:
            return self.ask(wish, call)
        except Refusal as refusal:
            if refusal.status == 404:  # noqa: PLR2004 - HTTP's own number
                return None
            raise self.error(refusal, wish) from None

    def sure(self, wish: str, call: Callable[[Apis, Mapping[str, Any]], Any], *, attempts: int = _ATTEMPTS) -> Json:
        """Make a request that a server which works does not refuse.

        Raises:
            ClusterError: It does.
        """
        try:
            return self.ask(wish, call, attempts=attempts)
        except Refusal as refusal:
            raise self.error(refusal, wish) from None

    def error(self, refusal: Refusal, wish: str) -> ClusterError:
        """Return a refusal as an error for a person."""
        error = ClusterError(explained(refusal, wish=wish, where=self.access.name))
        error.may_pass = refusal.may_pass
        return error

    @contextmanager
    def stream(self, call: Callable[[Apis, Mapping[str, Any]], Any], *, silence_s: float) -> Iterator[Any]:
        """Open an answer that comes piece by piece; closed in the end, whoever reads it.

        Args:
            call: Makes the request.
            silence_s: How long nothing may come.

        Raises:
            Refusal: The server says no.
        """
        options = {"_preload_content": False, "_request_timeout": (_CONNECT_S, silence_s + _STREAM_SLACK_S)}
        reply = self._reply(lambda apis: call(apis, options))
        try:
            yield reply
        finally:
            # Not released: what has not been read to its end is no connection for somebody else.
            with suppress(*OF_THE_CLIENT):
                reply.close()

    def tunnel(self, namespace: str, pod: str, port: int) -> Tunnel:
        """Open a way to a port of a pod.

        Raises:
            Refusal: The server says no, or does not answer.
            ClusterError: There is no way to the cluster.
        """
        used = self._connected()
        try:
            return open_tunnel(used.api, namespace, pod, port)
        except Refusal as refusal:
            if refusal.status != _UNAUTHORIZED:
                raise
        renewed = self._connected(other_than=used)
        return open_tunnel(renewed.api, namespace, pod, port)

    def close(self) -> None:
        """Close every connection; the next request opens new ones."""
        with self._lock:
            apis, self._apis = self._apis, None
        if apis is not None:
            apis.api.close()
            apis.api.rest_client.pool_manager.clear()

    @property
    def is_left(self) -> bool:
        """Tell whether the process ends, and nothing is asked any more."""
        return self._asking.is_over

    def leave(self, within_s: float) -> None:
        """Let no further request begin, and give those that have begun so long: the process ends."""
        self._asking.end(within_s)

    def _answer(self, call: Callable[[Apis], Any]) -> Json:
        reply = self._reply(call)
        try:
            data = reply.data
        except OF_THE_CLIENT as error:
            raise refusal_of(error) from error
        finally:
            reply.release_conn()
        answer: Json = json.loads(data)
        return answer

    def _reply(self, call: Callable[[Apis], Any]) -> Any:
        """Return the reply to a request; where the server does not know us, read the credentials anew, once."""
        with self._asking.counted():
            used = self._connected()
            try:
                return _checked(lambda: call(used))
            except Refusal as refusal:
                if refusal.status != _UNAUTHORIZED:
                    raise
            self._log.info("credentials_read_again", cluster=self.access.context)
            renewed = self._connected(other_than=used)
            return _checked(lambda: call(renewed))

    def _connected(self, *, other_than: Apis | None = None) -> Apis:
        with self._lock:
            if self._apis is None or self._apis is other_than:
                self._apis = _apis(self.access.connect())
            return self._apis

    def _tell(self, wish: str, state: RetryCallState) -> None:
        outcome = state.outcome
        error = str(outcome.exception()) if outcome is not None else ""
        self._log.info("cluster_request_repeated", wish=wish, attempt=state.attempt_number, error=error)


def lines_of(reply: Any) -> Iterator[str]:
    """Yield the lines of a stream."""
    return iter(iter_resp_lines(reply))


def _checked(call: Callable[[], Any]) -> Any:
    try:
        reply = call()
    except OF_THE_CLIENT as error:
        raise refusal_of(error) from error
    except ValueError as error:
        if "header value" not in str(error):
            raise
        # It would show the token, also as the cause of another.
        raise ClusterError(
            "the credentials of the cluster hold what no request can carry, such as a line end; log in again, or "
            "correct the token in the kubeconfig"
        ) from None
    # The client of one generation raises here, that of another hands the answer on.
    if reply.status in _OK:
        return reply
    try:
        raise read_refusal(reply.status, reply.data, reply.headers.get("Retry-After"))
    finally:
        reply.release_conn()


def _apis(api: Any) -> Apis:
    # Of more at the same time, each would be closed after its answer, with a warning.
    settings = api.rest_client.pool_manager.connection_pool_kw
    settings["maxsize"] = _CONNECTIONS
    # Who cannot connect, or whose proxy refuses (which counts as other), is tried again by `ask` alone.
    settings["retries"] = Retry(connect=0, other=0)
    settings["socket_options"] = [*HTTPConnection.default_socket_options, *_KEEP_ALIVE]
    _know_password(api.rest_client.pool_manager)
    return Apis(
        api=api,
        batch=kubernetes.BatchV1Api(api),
        core=kubernetes.CoreV1Api(api),
        authorization=kubernetes.AuthorizationV1Api(api),
    )


def _know_password(manager: Any) -> None:
    """Let requests tell a proxy the user and password that its address has, as `kubectl` does."""
    address = getattr(manager, "proxy", None)
    if address is not None and address.auth and "proxy-authorization" not in manager.proxy_headers:
        manager.proxy_headers.update(make_headers(proxy_basic_auth=unquote(address.auth)))


def _pause_s(state: RetryCallState) -> float:
    """Return a pause that no two clients share, or what the server asked for."""
    error = state.outcome.exception() if state.outcome is not None else None
    asked_s = error.retry_after_s if isinstance(error, Refusal) else None
    growing_s = min(_FIRST_PAUSE_S * 2.0 ** (state.attempt_number - 1), _LONGEST_PAUSE_S)
    return max(asked_s or 0.0, growing_s) * random.uniform(1.0, 1.5)  # noqa: S311 - nobody gains by guessing it
