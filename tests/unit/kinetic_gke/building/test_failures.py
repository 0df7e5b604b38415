"""What goes wrong between a job and its image: what may pass is tried again, all else is one readable sentence."""

import re
from typing import Any

import pytest

from kinetic_core.errors import ConfigError, SubmissionError
from tests.fakes.google.server import Google
from tests.unit.kinetic_gke.building.conftest import Client, client_at

TAGS, BUILDS, REPOSITORIES = "/tags/", "/builds$", "/repositories$"


def failure(client: Client) -> str:
    with pytest.raises(SubmissionError) as raised:
        client.make()
    return str(raised.value)


def test_a_failed_build_shows_its_step_and_the_end_of_its_log(google: Google, client: Client) -> None:
    google.builds.trouble = "ERROR: No matching distribution found for nunpy"
    told = failure(client)
    first, heading, *lines = told.splitlines()
    (build,) = google.builds.made
    assert first == (
        f"the image {build.raw['images'][0]} could not be built: the step 'image' of the build failed (build step 0 "
        f'"gcr.io/cloud-builders/docker" failed: step exited with non-zero status: 1); its log: {build.raw["logUrl"]}'
    )
    assert heading == "The last lines of the log:"
    assert lines == [*(f"#{number} working" for number in range(12, 41)), google.builds.trouble]


def test_a_log_that_may_not_be_read_hides_no_failure(google: Google, client: Client) -> None:
    google.builds.trouble = "ERROR"
    google.fail("GET", "/storage/", 403, message="no access")
    told = failure(client)
    assert told.endswith(f"its log: {google.builds.made[0].raw['logUrl']}")
    assert client.log.events("info")[-1] == "build_log_unread"


def test_only_the_end_of_a_long_log_is_fetched(google: Google, client: Client) -> None:
    google.builds.trouble = "x" * 30_000
    assert len(failure(client)) < 21_000


def test_an_image_that_cannot_be_stored_says_why(google: Google, client: Client) -> None:
    google.registry.refusal = "denied: Permission 'artifactregistry.repositories.uploadArtifacts' denied"
    assert "the build failed (failed to push: denied: Permission" in failure(client)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("TIMEOUT", "it took longer than 3600 s"),
        ("EXPIRED", "it waited in the queue for longer than 3600 s; try again later"),
        ("CANCELLED", "somebody cancelled it"),
        ("INTERNAL_ERROR", "Cloud Build itself failed; try again"),
    ],
)
def test_every_ending_has_its_sentence(google: Google, client: Client, status: str, sentence: str) -> None:
    google.builds.ending = status
    assert f"the build failed ({sentence}); its log: " in failure(client)


def test_a_build_that_does_not_end_is_not_waited_for(
    google: Google, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_gke.building.builds._SLACK_S", -7_200.0)
    google.builds.may_run.clear()
    told = failure(client)
    assert re.fullmatch(r"the build [0-9a-f-]+ does not end; look at https://console\.example\.com/builds/.*", told)


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "times": 1, "retry_after": "1"},
        {"status": 500, "times": 2},
        {"status": 503, "times": 1},
        {"status": 200, "times": 1, "lose_reply": True},
        {"status": 200, "times": 1, "body": b"<html>a proxy's greeting</html>"},
    ],
    ids=["429", "500", "503", "lost-reply", "no-json"],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", TAGS), ("POST", REPOSITORIES), ("GET", BUILDS), ("POST", BUILDS), ("GET", "/builds/.")],
)
def test_what_may_pass_is_tried_again(
    google: Google, client: Client, method: str, path: str, fault: dict[str, Any]
) -> None:
    google.builds.lasts_s = 0.3
    google.fail(method, path, **fault)
    assert client.make()
    assert len(google.builds.made) == 1
    assert "google_request_repeated" in client.log.events("info")


@pytest.mark.parametrize(
    ("path", "fault", "sentence"),
    [
        (
            TAGS,
            {"status": 403, "message": "Permission denied on resource"},
            (
                "Artifact Registry did not show an image in the project 'acme': it is forbidden (Permission denied on "
                "resource); ask for the role roles/artifactregistry.reader"
            ),
        ),
        (
            REPOSITORIES,
            {"status": 403, "message": "Permission denied"},
            (
                "Artifact Registry did not create the repository 'kinetic' in the project 'acme': it is forbidden "
                "(Permission denied); ask for the role roles/artifactregistry.admin, or have it created with: gcloud "
                "artifacts repositories create kinetic --repository-format docker --location us-central1 --project acme"
            ),
        ),
        (
            BUILDS,
            {"status": 403, "message": "The caller does not have permission"},
            (
                "Cloud Build did not start a build in the project 'acme': it is forbidden (The caller does not have "
                "permission); ask for the role roles/cloudbuild.builds.editor"
            ),
        ),
        (
            BUILDS,
            {"status": 403, "message": "Cloud Build API has not been used", "reason": "SERVICE_DISABLED"},
            (
                "Cloud Build did not start a build in the project 'acme': it is not enabled there; enable it with: "
                "gcloud services enable cloudbuild.googleapis.com --project acme"
            ),
        ),
        (
            BUILDS,
            {"status": 404, "message": "project not found"},
            (
                "Cloud Build did not start a build in the project 'acme': there is no such thing (project not found); "
                "look at KINETIC_PROJECT and KINETIC_ZONE"
            ),
        ),
        (
            BUILDS,
            {"status": 401, "message": "invalid credentials"},
            (
                "Cloud Build did not start a build in the project 'acme': it does not take these credentials (invalid "
                "credentials); log in with: gcloud auth application-default login"
            ),
        ),
        (
            BUILDS,
            {"status": 429, "message": "Quota exceeded"},
            (
                "Cloud Build did not start a build in the project 'acme': it has too much to do, or a quota is used up "
                "(Quota exceeded); try again later, or ask for a larger quota"
            ),
        ),
        (
            TAGS,
            {"status": 503, "message": "backend error"},
            (
                "Artifact Registry did not show an image in the project 'acme': it fails (backend error, 503); try "
                "again later"
            ),
        ),
        (
            BUILDS,
            {"status": 400, "message": "invalid build"},
            "Cloud Build did not start a build in the project 'acme': invalid build (400)",
        ),
        (
            BUILDS,
            {"status": 403, "body": b"<html>\nForbidden</html>"},
            (
                "Cloud Build did not start a build in the project 'acme': it is forbidden (<html> Forbidden</html>); "
                "ask for the role roles/cloudbuild.builds.editor"
            ),
        ),
    ],
    ids=["403", "403-create", "403-build", "disabled", "404", "401", "429", "503", "400", "html"],
)
def test_a_refusal_is_one_sentence(
    google: Google, client: Client, path: str, fault: dict[str, Any], sentence: str
) -> None:
    for method in ("GET", "POST"):
        google.fail(method, path, **fault)
    assert failure(client) == sentence


def test_a_token_that_was_taken_back_is_fetched_anew(google: Google, client: Client) -> None:
    google.fail("GET", TAGS, 401, times=1)
    assert client.make()


def test_credentials_that_give_no_token_are_named(google: Google, client: Client) -> None:
    google.fail("POST", "/token", 400, message="invalid_grant")
    told = failure(client)
    assert "it does not take these credentials" in told
    assert "gcloud auth application-default login" in told


def test_without_credentials_it_says_how_to_log_in(
    google: Google, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    with pytest.raises(ConfigError, match="there are no Google credentials for that: log in with gcloud auth"):
        client.make()


def test_services_that_cannot_be_reached_are_named(google: Google) -> None:
    nowhere = {**google.environ(), "CLOUDSDK_API_ENDPOINT_OVERRIDES_ARTIFACTREGISTRY": "http://127.0.0.1:1/"}
    told = failure(client_at(nowhere))
    assert told.startswith("Artifact Registry did not show an image in the project 'acme': it cannot be reached (")
    assert told.endswith("; look at network and proxy")


def test_a_repository_that_cannot_be_created_says_why(google: Google, client: Client) -> None:
    google.registry.failure = "the organisation forbids it"
    assert failure(client).endswith("/repositories/kinetic: the organisation forbids it")


def test_a_repository_that_is_never_created_is_not_waited_for(
    google: Google, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_gke.building.registry._LONGEST_S", 0.0)
    google.registry.asked_before_done = 1_000
    assert failure(client).endswith("/repositories/kinetic within 0 s")


def test_neither_tokens_nor_indexes_are_shown(google: Google, client: Client) -> None:
    google.fail("GET", TAGS, 500, times=1)
    google.fail("POST", BUILDS, 400)
    with pytest.raises(SubmissionError) as raised:
        client.make("--index-url https://me:hunter2@example.com\n")
    shown = repr([raised.value, raised.value.__cause__, client.log.records])
    assert "hunter2" not in shown
    assert "Bearer" not in shown
