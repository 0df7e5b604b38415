import sys
from pathlib import Path
from typing import Any

import fsspec.config
import pytest

from kinetic.testing.log import RecordingLog
from kinetic_core.errors import ConfigError
from kinetic_core.plugin import DriverContext
from kinetic_fsspec.failures import Masked
from kinetic_fsspec.opening import open_any, open_azure, open_gcs, open_s3

ANONYMOUS: dict[str, dict[str, Any]] = {
    "gs": {"token": "anon"},
    "s3": {"anon": True},
    "abfs": {"account_name": "a", "anon": True},
}


def context(log: RecordingLog | None = None, **options: Any) -> DriverContext:
    return DriverContext(
        log=log or RecordingLog(), environ={}, home=Path("/home/ann"), storage_options={**ANONYMOUS, **options}
    )


@pytest.fixture
def gcs() -> None:
    pytest.importorskip("gcsfs")


@pytest.fixture
def s3() -> None:
    pytest.importorskip("s3fs")


@pytest.fixture
def azure() -> None:
    pytest.importorskip("adlfs")


@pytest.mark.usefixtures("gcs")
def test_cloud_storage_is_opened_with_nothing_shared_cached_or_waited_for_for_ever() -> None:
    system = open_gcs("gs://bucket/prefix", context()).bucket._system  # type: ignore[attr-defined]
    other = open_gcs("gs://bucket/prefix", context()).bucket._system  # type: ignore[attr-defined]
    assert system is not other
    assert system.dircache.use_listings_cache is False
    assert system.requests_timeout.sock_read == 30


@pytest.mark.usefixtures("s3")
def test_what_fsspec_is_configured_with_counts_and_what_is_said_to_us_counts_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(fsspec.config.conf, "s3", {"key": "theirs", "endpoint_url": "https://s3.example.org"})
    told = context(s3={"key": "ours", "config_kwargs": {"read_timeout": 5}}, s3a={"secret": "too"})
    system = open_s3("s3://bucket", told).bucket._system  # type: ignore[attr-defined]
    assert (system.key, system.secret, system.endpoint_url) == ("ours", "too", "https://s3.example.org")
    assert system.config_kwargs == {
        "connect_timeout": 10,
        "read_timeout": 5,
        "retries": {"total_max_attempts": 1},
        "user_agent": "kinetic-run",
    }


@pytest.mark.usefixtures("azure")
def test_azures_account_may_stand_in_the_url() -> None:
    store = open_azure("abfs://box@account.dfs.core.windows.net/a?b#c", context(abfs={"anon": True}))
    assert store.bucket._system.account_name == "account"  # type: ignore[attr-defined]
    assert store.bucket._container == "box"  # type: ignore[attr-defined]
    assert store.bucket._folder == "a?b#c/"  # type: ignore[attr-defined]


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize("url", ["s3://", "s3:///key"])
def test_a_url_without_a_bucket_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="names no bucket"):
        open_s3(url, context())


@pytest.mark.usefixtures("s3")
def test_a_password_in_the_url_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError, match=r"s3://key@bucket/x has a password") as refused:
        open_s3("s3://key:hush@bucket/x", context())
    assert "hush" not in str(refused.value)


@pytest.mark.usefixtures("s3")
def test_options_that_a_driver_does_not_take_are_told_by_name_only() -> None:
    with pytest.raises(
        ConfigError, match=r"s3://bucket cannot be opened: .* its options are anon, key, max_conc"
    ) as told:
        open_s3("s3://bucket", context(s3={"anon": True, "key": "hush-hush", "max_concurrency": 0}))
    assert "hush-hush" not in str(told.value)


def test_any_other_url_of_fsspec_is_opened_with_a_word_of_warning(tmp_path: Path) -> None:
    log = RecordingLog()
    store = open_any(f"local://{tmp_path}/store", context(log))
    assert log.events("warning") == ["storage_unproven"]
    store.put_bytes(b"1", "job/key")
    assert store.put_if_absent(b"2", "job/key") is False
    assert store.get_bytes("job/key") == b"1"
    assert [found.key for found in store.list("job")] == ["job/key"]
    store.delete_prefix("job")
    store.delete_prefix("job/none")
    assert not store.exists("job/key")


def test_a_scheme_that_fsspec_does_not_know_is_told_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'sftp'\? Install"):
        open_any("sftpp://host/x", context())
    with pytest.raises(ConfigError, match=r"knows no driver for zzzzzz://\. Install"):
        open_any("zzzzzz://host/x", context())


def test_a_driver_that_lacks_a_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paramiko", None)
    with pytest.raises(ConfigError, match=r"sftp://host/x cannot be opened: .*paramiko"):
        open_any("sftp://host/x", context())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET /b/k?X-Amz-Signature=0a1b&x=1", "GET /b/k?X-Amz-Signature=***&x=1"),
        ("Authorization: Bearer ya29.abc-d", "Authorization: Bearer ***"),
        ("AccountName=a;AccountKey=Zm9v==;x=1", "AccountName=a;AccountKey=***;x=1"),
        ("nothing of note", "nothing of note"),
    ],
)
def test_what_signs_a_request_is_not_shown(text: str, shown: str) -> None:
    assert Masked()(text) == shown


def test_secrets_are_found_at_any_depth() -> None:
    masked = Masked.of(
        {"client_kwargs": {"aws_secret": ["one-1", {"x": "two-2"}]}, "endpoint_url": "https://e", "token": 3}
    )
    assert masked("one-1 two-2 https://e") == "*** *** https://e"
    assert "one-1" not in repr(masked)
