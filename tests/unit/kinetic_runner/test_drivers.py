import fsspec.config
import pytest

from kinetic_runner import drivers


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
