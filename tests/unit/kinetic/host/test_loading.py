"""Discovery, switches, broken imports, contested names, hooks that plugins define."""

import subprocess
import sys

import pytest

from kinetic.host import load_host
from kinetic.testing.log import RecordingLog
from kinetic_core.errors import ConfigError, PluginError
from kinetic_core.plugin import DriverContext
from tests.fakes.plugin_site import PluginSite

ALONE = {"KINETIC_DISABLE_PLUGINS": "defaults,fsspec,gitignore,gke,local"}


def driver(name: str) -> str:
    return f"@hookimpl\ndef kinetic_backend_drivers(): return [BackendDriver(name={name!r}, open=lambda context: None)]"


def test_a_plugin_is_described_by_where_it_came_from_and_what_it_implements(
    site: PluginSite, log: RecordingLog
) -> None:
    module = site.install("kinetic-hpc", driver("slurm"), version="2.5", plugin="hpc")

    (info,) = [plugin for plugin in load_host(ALONE, log=log).plugins() if plugin.name == "hpc"]

    assert (info.module, info.distribution, info.version) == (module, "kinetic-hpc", "2.5")
    assert info.hooks == ("kinetic_backend_drivers",)
    assert (info.problem, info.disabled_by) == ("", "")


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import a_library_that_is_not_there", "ModuleNotFoundError"),
        ("raise ValueError('broken at import')", "ValueError: broken at import"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def (:", "SyntaxError"),
    ],
)
def test_a_plugin_whose_import_fails_is_remembered_and_named_when_its_driver_is_asked_for(
    source: str, error: str, site: PluginSite, log: RecordingLog
) -> None:
    site.install("kinetic-gone", source, plugin="gone")
    site.install("kinetic-hpc", driver("slurm"))

    host = load_host(ALONE, log=log)

    assert list(host.backends()) == ["slurm"]
    with pytest.raises(PluginError, match=error):
        host.backend_driver("gone")
    with pytest.raises(ConfigError, match=r"(?s)may offer it.*kinetic-gone 1.0"):
        host.backend_driver("other")


def test_a_missing_library_is_named_in_the_remedy(site: PluginSite, log: RecordingLog) -> None:
    site.install("kinetic-gone", "import a_library_that_is_not_there")

    (problem,) = load_host(ALONE, log=log).problems()

    assert "a_library_that_is_not_there" in problem.remedy
    assert isinstance(problem.cause, ModuleNotFoundError)


def test_two_drivers_of_one_name_are_an_error_that_names_both_distributions(
    site: PluginSite, log: RecordingLog
) -> None:
    site.install("kinetic-one", driver("slurm"), version="1.1")
    site.install("kinetic-two", driver("slurm"), version="2.2")

    host = load_host(ALONE, log=log)

    assert log.events("warning") == ["plugin_name_contested"]
    assert "slurm" not in host.backends()
    with pytest.raises(PluginError, match=r"(?s)kinetic-one 1.1.*kinetic-two 2.2"):
        host.backend_driver("slurm")


def test_the_rest_of_two_plugins_that_contest_a_name_stays_usable(site: PluginSite, log: RecordingLog) -> None:
    both = """
    @hookimpl
    def kinetic_backend_drivers():
        return [BackendDriver(name=name, open=len) for name in ("slurm", {own!r})]
    """
    site.install("kinetic-one", both.format(own="one"))
    site.install("kinetic-two", both.format(own="two"))

    assert list(load_host(ALONE, log=log).backends()) == ["one", "two"]


def test_a_contested_scheme_and_a_contested_store_are_errors(site: PluginSite, log: RecordingLog) -> None:
    store = "@hookimpl\ndef kinetic_storage_drivers(): return [StorageDriver(name={0!r}, schemes={1!r}, open=len)]"
    site.install("kinetic-one", store.format("one", ("tape", "first")))
    site.install("kinetic-two", store.format("one", ("TAPE", "second")))

    host = load_host(ALONE, log=log)

    for url in ("tape://x", "first://x", "second://x"):
        with pytest.raises(PluginError, match=r"(?s)kinetic-one.*kinetic-two"):
            host.storage_driver(url)


def test_a_strangers_plugin_may_not_take_a_built_in_plugins_name(site: PluginSite, log: RecordingLog) -> None:
    site.install("kinetic-usurper", driver("other"), plugin="fsspec")

    host = load_host({"KINETIC_DISABLE_PLUGINS": "defaults,gitignore,gke,local"}, log=log)

    assert [problem.origin.distribution for problem in host.problems()] == ["kinetic-usurper"]
    assert "kinetic-run" in host.problems()[0].message
    assert host.storage_driver("file:///x").name == "file"
    assert list(host.backends()) == []


def test_two_strangers_of_one_plugin_name_are_both_left_out(site: PluginSite, log: RecordingLog) -> None:
    site.install("kinetic-one", driver("a"), plugin="hpc")
    site.install("kinetic-two", driver("b"), plugin="hpc")

    host = load_host(ALONE, log=log)

    assert [problem.code for problem in host.problems()] == ["contested_name", "contested_name"]
    assert list(host.backends()) == []


def test_one_module_under_two_names_is_loaded_once(site: PluginSite, log: RecordingLog) -> None:
    module = site.module(driver("slurm"))
    site.metadata("kinetic-twice", {"first": module, "second": module})

    host = load_host(ALONE, log=log)

    assert [(problem.code, problem.origin.plugin) for problem in host.problems()] == [("contested_name", "second")]
    assert list(host.backends()) == ["slurm"]


def test_a_disabled_plugin_is_not_imported_and_says_so_when_asked_for(site: PluginSite, log: RecordingLog) -> None:
    module = site.install("kinetic-hpc", driver("hpc"))
    environ = {"KINETIC_DISABLE_PLUGINS": f"{ALONE['KINETIC_DISABLE_PLUGINS']}, hpc"}

    host = load_host(environ, log=log)

    assert module not in sys.modules
    assert host.problems() == ()
    (info,) = [plugin for plugin in host.plugins() if plugin.name == "hpc"]
    assert info.disabled_by == "KINETIC_DISABLE_PLUGINS"
    with pytest.raises(PluginError, match="left out by KINETIC_DISABLE_PLUGINS"):
        host.backend_driver("hpc")


def test_a_misspelt_name_among_the_disabled_ones_is_a_warning_with_the_near_name(
    site: PluginSite, log: RecordingLog
) -> None:
    site.install("kinetic-slurm", driver("slurm"))

    load_host({"KINETIC_DISABLE_PLUGINS": "slrum"}, log=log)

    (record,) = [record for record in log.records if record.event == "disabled_plugin_unknown"]
    assert record.details["remedy"] == "did you mean 'slurm'?"


def test_without_autoload_only_the_built_in_plugins_are_loaded(site: PluginSite, log: RecordingLog) -> None:
    module = site.install("kinetic-hpc", driver("hpc"))

    host = load_host({"KINETIC_PLUGIN_AUTOLOAD": "0"}, log=log)

    assert module not in sys.modules
    assert host.storage_driver("file:///x").name == "file"
    assert {plugin.disabled_by for plugin in host.plugins() if plugin.distribution != "kinetic-run"} == {
        "KINETIC_PLUGIN_AUTOLOAD"
    }


def test_the_built_in_plugins_load_without_a_problem(log: RecordingLog) -> None:
    host = load_host({"KINETIC_PLUGIN_AUTOLOAD": "0"}, log=log)

    assert host.problems() == ()
    assert log.events("warning") == []


def test_listing_plugins_imports_no_heavy_library() -> None:
    program = (
        "import sys\n"
        "from kinetic.host import load_host\n"
        "load_host({'KINETIC_PLUGIN_AUTOLOAD': '0'}).plugins()\n"
        "heavy = {'kubernetes', 'gcsfs', 'fsspec', 'jax', 'cloudpickle', 'structlog', 'pathspec', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


SPECS = """
import sys
from kinetic_core.plugin import hookspec

@hookspec
def kinetic_hpc_queue(job): ...

@hookimpl
def kinetic_add_hookspecs(registrar):
    registrar.add(sys.modules[__name__])

@hookimpl
def kinetic_backend_drivers():
    return [BackendDriver(name="hpc", open=lambda context: context.collect("kinetic_hpc_queue", job="j1"))]
"""


def test_a_driver_calls_the_hooks_that_it_defined_through_its_context(
    site: PluginSite, log: RecordingLog, context: DriverContext
) -> None:
    site.install("kinetic-hpc", SPECS)
    site.install("kinetic-aaa", "@hookimpl\ndef kinetic_hpc_queue(job): return f'long for {job}'")
    site.install("kinetic-zzz", "@hookimpl\ndef kinetic_hpc_queue(): return None")

    host = load_host(ALONE, log=log)

    assert host.problems() == ()
    answers: object = host.open_backend("hpc", context)
    assert answers == {"aaa": "long for j1"}


def test_an_implementation_of_a_plugins_hook_is_checked_against_that_plugins_spec(
    site: PluginSite, log: RecordingLog
) -> None:
    site.install("kinetic-hpc", SPECS)
    site.install("kinetic-aaa", "@hookimpl\ndef kinetic_hpc_queue(jobs): ...")

    (problem,) = load_host(ALONE, log=log).problems()

    assert (problem.code, problem.origin.plugin) == ("unknown_argument", "aaa")


@pytest.mark.parametrize(
    ("source", "clue"),
    [
        (SPECS.replace("kinetic_hpc_queue", "kinetic_other_queue"), "kinetic_hpc_other_queue"),
        (SPECS.replace("kinetic_hpc_queue", "kinetic_job_event"), "exists already"),
        ("@hookimpl\ndef kinetic_add_hookspecs(registrar): registrar.add(object())", "no function is marked"),
        ("@hookimpl\ndef kinetic_add_hookspecs(registrar): raise OSError('no')", "OSError: no"),
        ("@hookimpl\ndef kinetic_add_hookspecs(register): ...", "did you mean 'registrar'?"),
    ],
)
def test_a_faulty_definition_of_hooks_rejects_the_plugin(
    source: str, clue: str, site: PluginSite, log: RecordingLog
) -> None:
    site.install("kinetic-hpc", source)

    (problem,) = load_host(ALONE, log=log).problems()

    assert clue in str(problem)


def test_plugins_are_told_when_all_are_loaded_and_one_that_fails_then_stays_in_use(
    site: PluginSite, log: RecordingLog
) -> None:
    site.install("kinetic-angry", f"{driver('angry')}\n@hookimpl\ndef kinetic_host_ready(): raise OSError('no')")
    told = site.install("kinetic-told", "seen = []\n@hookimpl\ndef kinetic_host_ready(host): seen.append(host)")

    host = load_host(ALONE, log=log)

    (info,) = sys.modules[told].seen
    assert {"angry", "told"} <= {plugin.name for plugin in info.plugins}
    assert [problem.code for problem in host.problems()] == ["hook_failed"]
    assert list(host.backends()) == ["angry"]
