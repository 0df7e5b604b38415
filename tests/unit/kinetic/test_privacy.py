"""Folders of this user's alone."""

import platformdirs
import pytest

from kinetic.privacy import cache_folder


@pytest.mark.parametrize("said", ["", "/var/caches", "caches"])
def test_caches_lie_where_the_platform_keeps_them(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", said)
    assert cache_folder() == platformdirs.user_cache_path("kinetic-run")
    monkeypatch.setattr("kinetic.privacy._IS_LINUX", False)
    assert cache_folder() == platformdirs.user_cache_path("kinetic-run")
