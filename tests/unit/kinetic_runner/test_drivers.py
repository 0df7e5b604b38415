import fsspec.config
import pytest

from kinetic_runner import drivers
from tests.fakes.servers.stores import CLOUDS


def test_the_users_own_timeout_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gcsfs")
    monkeypatch.setitem(fsspec.config.conf, "gs", {"token": "anon", "requests_timeout": 5})
    drivers._system.cache_clear()
    system, path = drivers.open_url("gs://bucket/a?b#c")
    assert system.requests_timeout == 5
    assert path == "bucket/a?b#c"
    assert drivers.open_url("gs://bucket/other")[0] is system
    drivers._system.cache_clear()


def test_azures_paths_are_names_and_no_urls() -> None:
    assert drivers._azure_path(["abfs://box@account.dfs.core.windows.net/a?b#c", "box/d/"]) == ["box/a?b#c", "box/d"]


def test_azure_is_asked_once_and_waited_for_no_longer_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("adlfs")
    monkeypatch.setitem(fsspec.config.conf, "abfs", CLOUDS["abfs"].options("http://127.0.0.1:9"))
    drivers._system.cache_clear()
    system, path = drivers.open_url("abfs://box/a?b#c")
    pipeline = system.service_client._pipeline
    waits = pipeline._transport.connection_config
    assert path == "box/a?b#c"
    assert (waits.timeout, waits.read_timeout) == (10, 30)
    assert [policy.total_retries for policy in pipeline._impl_policies if hasattr(policy, "total_retries")] == [0]
    drivers._system.cache_clear()
