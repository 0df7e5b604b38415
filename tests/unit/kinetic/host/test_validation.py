"""What is refused at load, each with a real module and a real entry point."""

import pytest

from kinetic.host import load_host
from kinetic.testing.log import RecordingLog
from kinetic_core.errors import PluginError
from tests.fakes.plugin_site import PluginSite

ALONE = {"KINETIC_DISABLE_PLUGINS": "defaults,fsspec,gitignore,gke,local"}

GOOD_DRIVER = """
@hookimpl
def kinetic_backend_drivers():
    return [BackendDriver(name="slurm", open=lambda context: "opened")]
"""

FAULTS = [
    (
        "unknown_hook",
        "kinetic_backend_driver",
        "@hookimpl\ndef kinetic_backend_driver(): return []",
        "'kinetic_backend_drivers'",
    ),
    ("unknown_hook", "backend_drivers", "@hookimpl\ndef backend_drivers(): return []", "'kinetic_backend_drivers'"),
    (
        "unknown_hook",
        "kinetic_job_evnt",
        "@hookimpl(specname='kinetic_job_evnt')\ndef observe(event): ...",
        "'kinetic_job_event'",
    ),
    ("unmarked_hook", "kinetic_exclude_rules", "def kinetic_exclude_rules(root, request): return []", "@hookimpl"),
    ("unmarked_hook", "kinetic_exclude_rule", "def kinetic_exclude_rule(root): return []", "'kinetic_exclude_rules'"),
    (
        "unmarked_hook",
        "kinetic_exclude_rules",
        "from functools import partial\nkinetic_exclude_rules = partial(list)",
        "@hookimpl",
    ),
    ("unmarked_hook", "kinetic_iterate", "kinetic_iterate = iter", "does not begin with 'kinetic_'"),
    ("unknown_argument", "kinetic_exclude_rules", "@hookimpl\ndef kinetic_exclude_rules(roots): return []", "'root'"),
    ("unknown_argument", "kinetic_exclude_rules", "@hookimpl\ndef kinetic_exclude_rules(*args): return []", "'*args'"),
    ("unknown_argument", "kinetic_exclude_rules", "@hookimpl\ndef kinetic_exclude_rules(**kw): return []", "'**kw'"),
    ("unknown_argument", "kinetic_exclude_rules", "@hookimpl\ndef kinetic_exclude_rules(*, root): return []", "'root'"),
    (
        "defaulted_argument",
        "kinetic_exclude_rules",
        "@hookimpl\ndef kinetic_exclude_rules(root, request=None): return []",
        "drop the default",
    ),
    (
        "unsupported_hook",
        "kinetic_exclude_rules",
        "@hookimpl(wrapper=True)\ndef kinetic_exclude_rules(root): return (yield)",
        "a wrapper",
    ),
    (
        "unsupported_hook",
        "kinetic_exclude_rules",
        "@hookimpl\nasync def kinetic_exclude_rules(root): return []",
        "asynchronous",
    ),
    ("unsupported_hook", "kinetic_exclude_rules", "@hookimpl\ndef kinetic_exclude_rules(root): yield 1", "a generator"),
    (
        "unsupported_hook",
        "kinetic_exclude_rules",
        "from functools import cache\n@cache\n@hookimpl\ndef kinetic_exclude_rules(root): return []",
        "_lru_cache_wrapper",
    ),
    ("wrong_answer", "kinetic_backend_drivers", "@hookimpl\ndef kinetic_backend_drivers(): return None", "None"),
    (
        "wrong_answer",
        "kinetic_backend_drivers",
        "@hookimpl\ndef kinetic_backend_drivers(): return BackendDriver(name='x', open=len)",
        "type BackendDriver",
    ),
    (
        "wrong_answer",
        "kinetic_storage_drivers",
        "@hookimpl\ndef kinetic_storage_drivers(): return [BackendDriver(name='x', open=len)]",
        "type BackendDriver at position 0",
    ),
    ("wrong_answer", "kinetic_reference_types", "@hookimpl\ndef kinetic_reference_types(): return {}", "type dict"),
    (
        "hook_failed",
        "kinetic_serializers",
        "@hookimpl\ndef kinetic_serializers(): return [Serializer(name='x', suffix='.x', write='module', read=len)]",
        "'write'",
    ),
    ("wrong_answer", "kinetic_serializers", "@hookimpl\ndef kinetic_serializers(): return ['msgpack']", "type str"),
    (
        "hook_failed",
        "kinetic_storage_drivers",
        "@hookimpl\ndef kinetic_storage_drivers(): return [StorageDriver(name='x', schemes='tape', open=len)]",
        "'schemes'",
    ),
    (
        "hook_failed",
        "kinetic_backend_drivers",
        "@hookimpl\ndef kinetic_backend_drivers(): return 1 / 0",
        "ZeroDivision",
    ),
]


@pytest.mark.parametrize(("code", "hook", "source", "clue"), FAULTS)
def test_a_faulty_plugin_is_rejected_with_one_warning_that_names_everything(
    code: str, hook: str, source: str, clue: str, *, site: PluginSite, log: RecordingLog
) -> None:
    module = site.install("kinetic-faulty", source, version="3.2")

    host = load_host(ALONE, log=log)

    (problem,) = host.problems()
    assert (problem.code, problem.hook) == (code, hook)
    assert problem.signature.startswith(f"{hook}(")
    assert clue in f"{problem.message} {problem.remedy}"
    (warning,) = [record for record in log.records if record.level == "warning"]
    assert warning.event == "plugin_rejected"
    assert warning.details["distribution"] == "kinetic-faulty 3.2"
    assert warning.details["module"] == module
    assert warning.details["hook"] == hook
    assert warning.details["signature"] == problem.signature
    assert warning.details["remedy"]
    (info,) = [plugin for plugin in host.plugins() if plugin.name == "faulty"]
    assert clue in info.problem


def test_what_a_rejected_plugin_would_have_offered_raises_its_fault_when_asked_for(
    site: PluginSite, log: RecordingLog
) -> None:
    site.install("kinetic-hpc", GOOD_DRIVER + "\ndef kinetic_exclude_rules(root): return []")

    host = load_host(ALONE, log=log)

    with pytest.raises(PluginError, match=r"'slurm' cannot be used.*kinetic-hpc 1.0.*not marked"):
        host.backend_driver("slurm")


def test_a_rejected_plugin_harms_no_other(site: PluginSite, log: RecordingLog) -> None:
    site.install("kinetic-bad", "@hookimpl\ndef kinetic_nonsense(): ...")
    site.install("kinetic-good", GOOD_DRIVER)

    host = load_host(ALONE, log=log)

    assert list(host.backends()) == ["slurm"]
    assert host.backend_driver("slurm").name == "slurm"


def test_all_faults_of_a_plugin_are_told_together(site: PluginSite, log: RecordingLog) -> None:
    site.install(
        "kinetic-bad", "def kinetic_one(): ...\n@hookimpl\ndef kinetic_exclude_rules(rot, request=1): return []"
    )

    problems = load_host(ALONE, log=log).problems()

    assert [problem.code for problem in problems] == ["unknown_argument", "defaulted_argument", "unmarked_hook"]


def test_a_plugin_for_a_newer_hook_interface_is_rejected_before_its_hooks_are_read(
    site: PluginSite, log: RecordingLog
) -> None:
    site.install("kinetic-new", "KINETIC_HOOK_API = 99\n@hookimpl\ndef kinetic_hook_of_the_future(): ...")

    host = load_host(ALONE, log=log)

    assert [problem.code for problem in host.problems()] == ["hook_api_too_new"]
    with pytest.raises(PluginError, match=r"KINETIC_HOOK_API = 99.*upgrade kinetic-run"):
        host.backend_driver("new")


def test_a_plugin_that_states_the_present_hook_interface_is_taken(site: PluginSite, log: RecordingLog) -> None:
    site.install("kinetic-now", f"KINETIC_HOOK_API = HOOK_API\n{GOOD_DRIVER}")

    assert load_host(ALONE, log=log).problems() == ()


def test_names_that_could_not_be_hooks_are_left_alone(site: PluginSite, log: RecordingLog) -> None:
    site.install(
        "kinetic-fine",
        """
        import kinetic_core as kinetic_anything
        kinetic_limit = 3
        class kinetic_thing: ...
        class Answering:
            def __getattr__(self, name): return {"specname": "kinetic_nonsense"}
        settings = Answering()
        def _kinetic_private(): ...
        """,
    )

    assert load_host(ALONE, log=log).problems() == ()


def test_an_optional_hook_of_an_absent_plugin_is_accepted(site: PluginSite, log: RecordingLog) -> None:
    site.install("kinetic-site", "@hookimpl(optionalhook=True)\ndef kinetic_gke_patch_pod(pod, job): return {}")

    assert load_host(ALONE, log=log).problems() == ()


def test_an_entry_point_that_names_no_module_is_rejected(site: PluginSite, log: RecordingLog) -> None:
    module = site.module("class Plugin: ...")
    site.metadata("kinetic-classy", {"classy": f"{module}:Plugin"})

    assert [problem.code for problem in load_host(ALONE, log=log).problems()] == ["not_a_module"]
