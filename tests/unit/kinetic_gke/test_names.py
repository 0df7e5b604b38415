"""Names and labels."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.errors import ConfigError
from kinetic_gke.manifest.names import NAME_LIMIT, dns_name, job_labels, job_name, label_value, pod_labels
from tests.unit.kinetic_gke.manifests import job_spec

DNS = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
TEXTS = st.one_of(st.text(max_size=100), st.from_regex(r"[a-zA-Z0-9_.-]{0,80}", fullmatch=True))


@given(TEXTS)
def test_a_name_is_safe_and_short_whatever_it_is_made_of(text: str) -> None:
    for limit in (20, 63):
        name = dns_name(text, limit=limit)
        assert len(name) <= limit
        assert DNS.fullmatch(name)
    value = label_value(text)
    assert len(value) <= 63
    assert LABEL.fullmatch(value)


@given(TEXTS, TEXTS)
def test_names_of_different_texts_differ(one: str, other: str) -> None:
    assert (dns_name(one) == dns_name(other)) is (one == other)
    assert (label_value(one) == label_value(other)) is (one == other)


@pytest.mark.parametrize("end", ["a", "b"])
def test_long_names_that_differ_at_their_end_still_differ(end: str) -> None:
    other = "b" if end == "a" else "a"
    assert dns_name("x" * 80 + end) != dns_name("x" * 80 + other)
    assert label_value("x" * 80 + end) != label_value("x" * 80 + other)


def test_a_job_leaves_room_for_the_index_that_follows_its_name() -> None:
    assert job_name("job-0a1b2c3d") == "kinetic-job-0a1b2c3d"
    assert len(f"{job_name('j' * 100)}-99999") <= 63
    assert len(job_name("j" * 100)) <= NAME_LIMIT


def test_users_labels_are_made_safe_and_ours_stand_beside_them() -> None:
    labels = job_labels(job_spec(labels={"team": "vision", "example.com/purpose": "to try this & that"}))
    assert labels["team"] == "vision"
    assert labels["example.com/purpose"].startswith("to-try-this-that-")
    assert (labels["app"], labels["job-id"]) == ("kinetic", "job-0a1b2c3d")


def test_what_kueue_reads_stands_on_the_job_alone() -> None:
    spec = job_spec(labels={"kueue.x-k8s.io/queue-name": "research", "team": "a"})
    assert "kueue.x-k8s.io/queue-name" in job_labels(spec)
    assert set(pod_labels(spec)) == {"team", "app", "job-id"}


@pytest.mark.parametrize(
    "key", ["app", "job-id", "job-name", "batch.kubernetes.io/job-name", "", "a b", "/x", "x/", "a/b/c", "-x", "X" * 64]
)
def test_keys_that_are_taken_or_none_are_refused_together(key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        job_labels(job_spec(labels={"fine": "1", key: "2", "und sö": "3"}))
    assert repr(key) in str(refused.value)
    assert "'und sö'" in str(refused.value)
    assert "fine" not in str(refused.value)


def test_the_name_of_a_queue_is_not_made_safe_for_it_would_be_another_queue() -> None:
    with pytest.raises(ConfigError, match="'my queue' cannot be what"):
        job_labels(job_spec(labels={"kueue.x-k8s.io/queue-name": "my queue"}))
