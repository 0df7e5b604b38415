"""What a person has to see to when a store refuses: told apart on real clients and servers, by one sentence each."""

import json
import socket
from pathlib import Path

import pytest

from kinetic.submission.preflight import probe
from kinetic.testing.log import RecordingLog
from kinetic_core.errors import PreflightError
from kinetic_core.plugin import DriverContext
from kinetic_fsspec.opening import open_azure, open_gcs, open_s3
from kinetic_fsspec.retries import Policy
from tests.contract.conftest import Servers, cloudy_place
from tests.contract.stores import CLOUDY
from tests.fakes.servers.proxy import Rule
from tests.fakes.servers.stores import CLOUDS

pytestmark = pytest.mark.slow

OPENERS = {"gs": open_gcs, "s3": open_s3, "abfs": open_azure}
HURRIED = Policy(attempts=2, sleep=lambda _: None)


def refusal(url: str, address: str, home: Path) -> str:
    scheme = url.partition("://")[0]
    options = {scheme: CLOUDS[scheme].options_here(address)}
    context = DriverContext(log=RecordingLog(), environ={}, home=home, storage_options=options)
    with pytest.raises(PreflightError) as caught:
        probe(OPENERS[scheme](url, context, HURRIED))
    return str(caught.value)


@pytest.mark.parametrize("scheme", CLOUDY)
def test_a_bucket_that_is_not_there(scheme: str, servers: Servers, tmp_path: Path) -> None:
    address = servers.at(scheme).address
    said = refusal(f"{scheme}://no-such-bucket-at-all/x", address, tmp_path)
    assert "at the step 'write'" in said
    assert "create it, or correct the URL" in said
    assert said.count("create it") == 1


@pytest.mark.parametrize("scheme", CLOUDY)
@pytest.mark.parametrize(("status", "remedy"), [(401, "log in again"), (403, "ask for the permission")])
def test_who_may_not_write(scheme: str, status: int, remedy: str, servers: Servers, tmp_path: Path) -> None:
    place = cloudy_place(scheme, servers, tmp_path)
    assert place.proxy is not None
    place.proxy.break_(Rule(fault="status", status=status, method="PUT|POST", times=99))
    said = refusal(place.url, place.proxy.address, tmp_path)
    assert "at the step 'write'" in said
    assert remedy in said


@pytest.mark.parametrize("scheme", CLOUDY)
@pytest.mark.parametrize(("method", "step"), [("GET|HEAD", "read"), ("DELETE", "delete")])
def test_who_may_write_only(scheme: str, method: str, step: str, servers: Servers, tmp_path: Path) -> None:
    if (scheme, step) == ("s3", "delete"):
        method = "POST|DELETE"
    place = cloudy_place(scheme, servers, tmp_path)
    assert place.proxy is not None
    skip = 1 if method.startswith("POST") else 0
    place.proxy.break_(Rule(fault="status", status=403, method=method, path="delete|pre" if skip else ".*", times=99))
    said = refusal(place.url, place.proxy.address, tmp_path)
    assert f"at the step '{step}'" in said
    assert "ask for the permission" in said


@pytest.mark.parametrize("scheme", CLOUDY)
def test_a_store_that_nobody_answers_for(scheme: str, servers: Servers, tmp_path: Path) -> None:
    servers.at(scheme)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        said = refusal(f"{scheme}://kinetic-tests/x", address, tmp_path)
    assert "cannot be reached" in said


# As the clouds answer: with a word of their own, under a status that says something else.
SPOKEN = [
    ("s3", 403, "RequestTimeTooSkewed", "clock differs"),
    ("s3", 400, "ExpiredToken", "log in again"),
    ("s3", 403, "InvalidAccessKeyId", "log in again"),
    ("s3", 403, "AccessDenied", "ask for the permission"),
    ("abfs", 403, "AuthenticationFailed", "log in again"),
    ("abfs", 403, "AuthorizationPermissionMismatch", "ask for the permission"),
    ("abfs", 404, "ContainerNotFound", "create it, or correct the URL"),
    ("gs", 401, "Invalid Credentials", "log in again"),
    ("gs", 400, "User project specified in the request is invalid.", "correct the driver's project"),
    ("gs", 403, "Caller does not have required permission to use project mine.", "correct the driver's project"),
    ("gs", 404, "The specified bucket does not exist.", "create it, or correct the URL"),
]


@pytest.mark.parametrize(("scheme", "status", "word", "remedy"), SPOKEN)
def test_what_the_cloud_calls_it_tells_the_remedy(
    scheme: str, status: int, word: str, remedy: str, servers: Servers, tmp_path: Path
) -> None:
    place = cloudy_place(scheme, servers, tmp_path)
    assert place.proxy is not None
    text = json.dumps({"error": {"code": status, "message": word, "errors": []}})
    if scheme == "s3":
        text = f"<?xml version='1.0'?><Error><Code>{word}</Code><Message>as asked for</Message></Error>"
    headers = {"x-ms-error-code": word} if scheme == "abfs" else {}
    place.proxy.break_(Rule(fault="status", status=status, text=text, headers=headers, times=99))
    said = refusal(place.url, place.proxy.address, tmp_path)
    assert remedy in said
    assert "\n" not in said


@pytest.mark.parametrize("scheme", CLOUDY)
@pytest.mark.parametrize("method", ["GET|HEAD", "PUT|POST"])
def test_a_store_that_refuses_is_left_as_it_was(scheme: str, method: str, servers: Servers, tmp_path: Path) -> None:
    place = cloudy_place(scheme, servers, tmp_path)
    assert place.proxy is not None
    place.proxy.break_(Rule(fault="status", status=403, method=method, times=1))
    refusal(place.url, place.proxy.address, tmp_path)
    assert list(place.open().list()) == []
