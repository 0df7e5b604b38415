"""Opening what plugins offer, and what is said when it cannot be."""

import re
import sys

import pytest

from kinetic.host import load_host
from kinetic.testing.log import RecordingLog
from kinetic_core.errors import ConfigError, PluginError, StorageError
from kinetic_core.plugin import DriverContext
from tests.fakes.plugin_site import PluginSite

ALONE = {"KINETIC_DISABLE_PLUGINS": "defaults,fsspec,gitignore,gke,local"}
HPC = """
def _open(context): return ("cluster", context.home)
def _import(context): import a_library_that_is_not_there
def _fail(context): return 1 / 0

@hookimpl
def kinetic_backend_drivers():
    return [
        BackendDriver(name="slurm", open=_open),
        BackendDriver(name="pbs", open=_open, requires=["no_such_library.client"], install_hint="pip install pbs"),
        BackendDriver(name="lsf", open=_open, requires=["no_such_library"]),
        BackendDriver(name="importing", open=_import, install_hint="pip install it"),
        BackendDriver(name="failing", open=_fail),
    ]
"""
TAPE = """
from kinetic_core.errors import StorageError
def _open(url, context):
    if url.endswith("broken"):
        raise StorageError("the tape is torn")
    return url

@hookimpl
def kinetic_storage_drivers():
    return [StorageDriver(name="tape", schemes=["tape", "tar"], open=_open)]
"""


def test_a_backend_is_opened_with_the_context(site: PluginSite, log: RecordingLog, context: DriverContext) -> None:
    site.install("kinetic-hpc", HPC)

    opened: object = load_host(ALONE, log=log).open_backend("slurm", context)

    assert opened == ("cluster", context.home)


@pytest.mark.parametrize(
    ("name", "clues"),
    [
        ("pbs", ["no_such_library.client", "not installed", "pip install pbs"]),
        ("lsf", ["no_such_library", "pip install no_such_library"]),
        ("importing", ["ModuleNotFoundError", "kinetic-hpc 1.0", "pip install it"]),
        ("failing", ["ZeroDivisionError", "kinetic-hpc 1.0", "report it"]),
        ("pathways", ["not part of this release", "slurm (from kinetic-hpc 1.0"]),
    ],
)
def test_a_backend_that_cannot_be_opened_says_why_and_what_to_do(
    name: str, clues: list[str], site: PluginSite, log: RecordingLog, context: DriverContext
) -> None:
    site.install("kinetic-hpc", HPC)
    host = load_host(ALONE, log=log)

    with pytest.raises(PluginError) as caught:
        host.open_backend(name, context)

    assert [clue for clue in clues if clue not in str(caught.value)] == []


def test_an_unknown_backend_suggests_the_near_name_and_lists_where_each_came_from(
    site: PluginSite, log: RecordingLog
) -> None:
    module = site.install("kinetic-hpc", HPC, version="4.1")

    with pytest.raises(ConfigError) as caught:
        load_host(ALONE, log=log).backend_driver("slrum")

    text = str(caught.value)
    assert "did you mean 'slurm'?" in text
    assert f"slurm (from kinetic-hpc 4.1, module {module})" in text
    assert "pbs (first: pip install pbs)" in text


def test_without_any_plugin_the_error_says_that_nothing_is_installed(log: RecordingLog) -> None:
    with pytest.raises(ConfigError, match="none, not even a built-in one"):
        load_host(ALONE, log=log).backend_driver("nothing_like_it")


def test_a_store_is_opened_by_the_urls_scheme_in_any_case(
    site: PluginSite, log: RecordingLog, context: DriverContext
) -> None:
    site.install("kinetic-tape", TAPE)
    host = load_host(ALONE, log=log)

    opened: object = host.open_storage("TAR://reel/7", context)
    assert opened == "tar://reel/7"
    assert host.storage_driver("tape://reel").name == "tape"


def test_a_drivers_own_error_comes_through_unchanged(
    site: PluginSite, log: RecordingLog, context: DriverContext
) -> None:
    site.install("kinetic-tape", TAPE)

    with pytest.raises(StorageError, match=r"^the tape is torn$"):
        load_host(ALONE, log=log).open_storage("tape://broken", context)


@pytest.mark.parametrize("url", ["/data/store", "C:\\store", "", "://x", "tape"])
def test_a_text_that_is_no_url_is_refused_with_an_example(url: str, log: RecordingLog) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"{url!r} is no URL")):
        load_host(ALONE, log=log).storage_driver(url)


def test_an_unknown_scheme_suggests_the_near_one(site: PluginSite, log: RecordingLog) -> None:
    site.install("kinetic-tape", TAPE)

    with pytest.raises(ConfigError, match=r"no storage scheme 'tpe'; did you mean 'tape'?"):
        load_host(ALONE, log=log).storage_driver("tpe://x")


def test_formats_are_found_by_name_and_an_unknown_one_lists_the_known(site: PluginSite, log: RecordingLog) -> None:
    site.install(
        "kinetic-msgpack",
        "@hookimpl\ndef kinetic_serializers():"
        " return [Serializer(name='msgpack', suffix='.mp', write=print, read=print)]",
    )
    host = load_host(ALONE, log=log)

    assert list(host.serializers()) == ["msgpack"]
    assert host.serializer("msgpack").suffix == ".mp"
    with pytest.raises(ConfigError, match=r"no serializer 'msgpak'; did you mean 'msgpack'\? Installed: msgpack"):
        host.serializer("msgpak")


REFERENCE = """
class Table: ...
@hookimpl
def kinetic_reference_types():
    return [ReferenceType(name={0!r}, python_type={1}, open=lambda context: {0!r})]
"""


def test_reference_types_are_collected(site: PluginSite, log: RecordingLog, context: DriverContext) -> None:
    module = site.install("kinetic-tables", REFERENCE.format("table", "Table"))

    (kind,) = load_host(ALONE, log=log).reference_types()

    assert kind.python_type is sys.modules[module].Table
    opened: object = kind.open(context)
    assert opened == "table"


@pytest.mark.parametrize(
    ("first", "second"), [(("table", "int"), ("table", "float")), (("one", "complex"), ("two", "complex"))]
)
def test_a_contested_reference_type_is_still_one_but_cannot_be_opened(
    first: tuple[str, str], second: tuple[str, str], site: PluginSite, log: RecordingLog, context: DriverContext
) -> None:
    site.install("kinetic-one", REFERENCE.format(*first))
    site.install("kinetic-two", REFERENCE.format(*second))
    host = load_host(ALONE, log=log)

    kinds = host.reference_types()

    assert {kind.python_type.__name__ for kind in kinds} == {first[1], second[1]}
    for kind in kinds:
        with pytest.raises(PluginError, match=r"(?s)kinetic-one.*kinetic-two"):
            kind.open(context)


def test_when_all_plugins_are_in_use_an_unknown_name_is_not_blamed_on_any(log: RecordingLog) -> None:
    with pytest.raises(ConfigError, match="did you mean 'local'") as caught:
        load_host({"KINETIC_PLUGIN_AUTOLOAD": "0"}, log=log).backend_driver("lcoal")

    assert "not in use" not in str(caught.value)
