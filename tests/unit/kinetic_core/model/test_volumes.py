"""Where a volume may be mounted is said when the function is decorated."""

import pytest

from kinetic_core.errors import ConfigError
from kinetic_core.model.request import RunOptions


@pytest.mark.parametrize(
    "mount",
    [
        "/",
        "//",
        "/.",
        "/data/..",
        "/data/../etc",
        "/..",
        "/proc",
        "/proc/self",
        "//sys/x",
        "/dev/",
        "/./dev/x",
        "/a\0b",
    ],
)
def test_a_place_where_nothing_can_be_mounted_is_refused(mount: str) -> None:
    with pytest.raises(ConfigError, match="nothing can be mounted at"):
        RunOptions(volumes={mount: object()})


@pytest.mark.parametrize("mount", ["/data", "/device/x", "/data/proc", "/data/..x", "/data//deep/"])
def test_any_other_absolute_path_is_kept_as_it_is_spelt(mount: str) -> None:
    assert list(RunOptions(volumes={mount: object()}).volumes) == [mount]
