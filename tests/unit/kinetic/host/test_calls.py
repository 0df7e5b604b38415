"""Asking plugins: each answer is checked and each failure names its plugin."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kinetic.host import Host, load_host
from kinetic.testing.log import RecordingLog
from kinetic_core.errors import ConfigError, KineticError, PluginError
from kinetic_core.plugin import Finding, JobEvent, JobRef, JobStatus, RunRequest, Severity
from tests.fakes.plugin_site import PluginSite

ALONE = {"KINETIC_DISABLE_PLUGINS": "defaults,fsspec,gitignore,gke,local"}
NO_PACKAGE: Any = None
"""The host passes a package on without looking at it."""
EVENT = JobEvent(job_id="job-0a1b2c3d", kind="job_started", at=datetime.now(UTC), status=JobStatus.RUNNING)
JOB = JobRef(backend="local", job_id="job-0a1b2c3d")


@pytest.fixture
def load(site: PluginSite, log: RecordingLog) -> Callable[..., Host]:
    def load(**sources: str) -> Host:
        for name, source in sources.items():
            site.install(f"kinetic-{name}", source)
        host = load_host(ALONE, log=log)
        assert host.problems() == ()
        return host

    return load


def test_rules_carry_their_plugins_name_whatever_the_plugin_says(
    load: Callable[..., Host], request_: RunRequest, tmp_path: Path
) -> None:
    host = load(
        dvc="@hookimpl\ndef kinetic_exclude_rules(): return [ExcludeRule(pattern='*.dvc', source='default')]",
        big="@hookimpl\ndef kinetic_exclude_rules(root): return (ExcludeRule(pattern=root.name, origin='here'),)",
    )

    rules = host.exclude_rules(tmp_path, request_)

    assert [(rule.pattern, rule.source, rule.origin) for rule in rules] == [
        (tmp_path.name, "plugin:big", "here"),
        ("*.dvc", "plugin:dvc", ""),
    ]


@pytest.mark.parametrize("answer", ["None", "'*.log'", "['*.log']", "ExcludeRule(pattern='x')", "{}"])
def test_rules_of_a_wrong_type_are_an_error_that_names_the_plugin(
    answer: str, load: Callable[..., Host], request_: RunRequest, tmp_path: Path
) -> None:
    host = load(dvc=f"@hookimpl\ndef kinetic_exclude_rules(): return {answer}")

    with pytest.raises(PluginError, match=r"plugin 'dvc' \(kinetic-dvc 1.0, .*list or tuple of ExcludeRule"):
        host.exclude_rules(tmp_path, request_)


def test_what_a_hook_raises_is_an_error_that_names_the_plugin_and_keeps_the_cause(
    load: Callable[..., Host], request_: RunRequest, tmp_path: Path
) -> None:
    host = load(dvc="@hookimpl\ndef kinetic_exclude_rules(root): return 1 / 0")

    with pytest.raises(PluginError, match=r"kinetic-dvc 1.0.*ZeroDivisionError") as caught:
        host.exclude_rules(tmp_path, request_)

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_that_a_plugin_raises_on_purpose_comes_through_unchanged(
    load: Callable[..., Host], request_: RunRequest
) -> None:
    host = load(
        site="""
        from kinetic_core.errors import ConfigError
        @hookimpl
        def kinetic_select_backend(request): raise ConfigError("no cluster for you")
        """
    )

    with pytest.raises(KineticError, match=r"^no cluster for you$"):
        host.select_backend(request_)


def test_an_ignore_dialect_is_the_name_of_a_plugin_that_makes_rules(
    load: Callable[..., Host], request_with: Callable[..., RunRequest], tmp_path: Path
) -> None:
    host = load(
        dvc="@hookimpl\ndef kinetic_exclude_rules(): return []",
        other="@hookimpl\ndef kinetic_plan_entries(): return {}",
    )

    assert host.exclude_rules(tmp_path, request_with(ignore="dvc")) == ()
    with pytest.raises(ConfigError, match="no ignore dialect 'dcv'; did you mean 'dvc'"):
        host.exclude_rules(tmp_path, request_with(ignore="dcv"))
    with pytest.raises(ConfigError, match="no ignore dialect 'other'"):
        host.exclude_rules(tmp_path, request_with(ignore="other"))
    with pytest.raises(PluginError, match="not part of this release"):
        host.exclude_rules(tmp_path, request_with(ignore="konduktor"))
    with pytest.raises(PluginError, match="left out by KINETIC_DISABLE_PLUGINS"):
        host.exclude_rules(tmp_path, request_with(ignore="gitignore"))


def test_the_first_answer_counts_and_the_last_in_line_can_step_back(
    load: Callable[..., Host], request_: RunRequest
) -> None:
    host = load(
        late="@hookimpl(trylast=True)\ndef kinetic_select_backend(): return 'late'",
        mute="@hookimpl(tryfirst=True)\ndef kinetic_select_backend(): return None",
        said="@hookimpl\ndef kinetic_select_backend(request): return f'on-{request.options.accelerator}'",
    )

    assert host.select_backend(request_) == "on-cpu"


def test_nobodys_choice_is_none(load: Callable[..., Host], request_: RunRequest) -> None:
    host = load()

    assert host.select_backend(request_) is None
    assert host.select_storage(request_, "local") is None


def test_a_store_may_be_chosen_by_backend(load: Callable[..., Host], request_: RunRequest) -> None:
    host = load(site="@hookimpl\ndef kinetic_select_storage(backend): return f'file:///{backend}'")

    assert host.select_storage(request_, "slurm") == "file:///slurm"


@pytest.mark.parametrize("answer", ["3", "''", "['local']"])
def test_a_choice_that_is_no_text_is_an_error(answer: str, load: Callable[..., Host], request_: RunRequest) -> None:
    host = load(site=f"@hookimpl\ndef kinetic_select_backend(): return {answer}")

    with pytest.raises(PluginError, match=r"plugin 'site'.*non-empty text or None"):
        host.select_backend(request_)


def test_plan_entries_stand_under_their_plugins_name_as_plain_json(
    load: Callable[..., Host], request_: RunRequest, tmp_path: Path
) -> None:
    host = load(
        git="@hookimpl\ndef kinetic_plan_entries(root): return {'commit': '0a1b', 'parents': ('2c', None, 1.5)}",
        nil="@hookimpl\ndef kinetic_plan_entries(): return {}",
    )

    assert host.plan_entries(tmp_path, request_) == {"git": {"commit": "0a1b", "parents": ["2c", None, 1.5]}}


@pytest.mark.parametrize(
    ("answer", "clue"),
    [
        ("{'seen': [{1}]}", "its answer['seen'][0] is a set"),
        ("{1: 2}", "has the key 1"),
        ("{'x': float('nan')}", "nan"),
        ("[1]", "a mapping of JSON values"),
        ("None", "a mapping of JSON values"),
        ("(lambda d: d.update(d=d) or d)({})", "circular"),
    ],
)
def test_plan_entries_that_are_no_json_are_an_error_that_names_plugin_and_place(
    answer: str, clue: str, load: Callable[..., Host], request_: RunRequest, tmp_path: Path
) -> None:
    host = load(git=f"@hookimpl\ndef kinetic_plan_entries(): return {answer}")

    with pytest.raises(PluginError, match="plugin 'git'") as caught:
        host.plan_entries(tmp_path, request_)

    assert clue in str(caught.value)


def test_plan_entries_nested_beyond_all_measure_are_an_error(
    load: Callable[..., Host], request_: RunRequest, tmp_path: Path
) -> None:
    host = load(
        git="""
        @hookimpl
        def kinetic_plan_entries():
            nested = []
            for _ in range(100_000): nested = [nested]
            return {"nested": nested}
        """
    )

    with pytest.raises(PluginError, match="nested too deeply"):
        host.plan_entries(tmp_path, request_)


def test_findings_of_all_plugins_are_joined(load: Callable[..., Host], request_: RunRequest) -> None:
    finding = "@hookimpl\ndef kinetic_inspect_package(): return [Finding(code={0!r}, severity='error', message='m')]"
    host = load(b=finding.format("from_b"), a=finding.format("from_a"))

    assert host.inspect_package(NO_PACKAGE, request_) == (
        Finding(code="from_a", severity=Severity.ERROR, message="m"),
        Finding(code="from_b", severity=Severity.ERROR, message="m"),
    )


def test_a_finding_of_a_wrong_type_is_an_error(load: Callable[..., Host], request_: RunRequest) -> None:
    host = load(a="@hookimpl\ndef kinetic_inspect_package(package, request): return ['too big']")

    with pytest.raises(PluginError, match="list or tuple of Finding"):
        host.inspect_package(NO_PACKAGE, request_)


def test_a_failing_observer_keeps_no_other_from_hearing_and_is_reported_once(
    load: Callable[..., Host], log: RecordingLog
) -> None:
    host = load(
        angry="@hookimpl\ndef kinetic_job_event(event): raise OSError('no')",
        calm="heard = []\n@hookimpl\ndef kinetic_job_event(event, job): heard.append((event.kind, job.job_id))",
        worse="@hookimpl\ndef kinetic_job_event(job): raise ValueError('nor I')",
    )
    (calm,) = [plugin.module for plugin in host.plugins() if plugin.name == "calm"]

    host.notify(EVENT, JOB)
    host.notify(EVENT, JOB)

    assert sys.modules[calm].heard == [("job_started", "job-0a1b2c3d")] * 2
    warned = [record.details["plugin"] for record in log.records if record.level == "warning"]
    assert sorted(warned) == ["angry", "worse"]
    assert log.events("debug") == ["observer_failed", "observer_failed"]


def test_an_observer_does_not_stop_an_interrupt(load: Callable[..., Host]) -> None:
    host = load(a="@hookimpl\ndef kinetic_job_event(event): raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        host.notify(EVENT, JOB)


def test_traced_calls_are_logged_without_what_they_answered(
    site: PluginSite, log: RecordingLog, request_: RunRequest, tmp_path: Path
) -> None:
    site.install("kinetic-git", "@hookimpl\ndef kinetic_plan_entries(): return {'token': 'hunter2'}")
    host = load_host({**ALONE, "KINETIC_TRACE_PLUGINS": "1"}, log=log)

    host.plan_entries(tmp_path, request_)

    called = [record.details for record in log.records if record.event == "hook_called"]
    # Those that ship make the others.
    assert [details for details in called if details["plugin"] != "jax"] == [
        {"hook": "kinetic_plan_entries", "plugin": "git", "answer": "dict of 1"}
    ]
    assert "hunter2" not in str(called)


def test_accelerators_come_from_every_plugin_that_lists_any(load: Callable[..., Host]) -> None:
    source = "from kinetic_core.plugin import AcceleratorInfo\n@hookimpl\ndef kinetic_accelerators(): return {}"
    host = load(
        slurm=source.format("[AcceleratorInfo(backend='slurm', kind='gpu', name='a100x8', count=8)]"),
        none=source.format("()"),
    )

    assert [(one.backend, one.name, one.hosts) for one in host.accelerators()] == [("slurm", "a100x8", 1)]


def test_accelerators_of_a_wrong_type_are_an_error_that_names_the_plugin(load: Callable[..., Host]) -> None:
    host = load(slurm="@hookimpl\ndef kinetic_accelerators(): return ['a100']")

    with pytest.raises(PluginError, match=r"plugin 'slurm' .*list or tuple of AcceleratorInfo"):
        host.accelerators()


def test_caches_come_from_every_plugin_that_keeps_anything(load: Callable[..., Host], tmp_path: Path) -> None:
    source = (
        "from kinetic_core.plugin import Cache, Kept\n"
        "@hookimpl\n"
        "def kinetic_caches(home):\n"
        "    kept = [Kept(name=str(home), size_bytes=1, used_at=0)]\n"
        "    return [Cache(kind='image', contents=lambda: kept, clear=lambda: ())]\n"
    )
    host = load(slurm=source, none="@hookimpl\ndef kinetic_caches(): return ()")

    (cache,) = host.caches(tmp_path)
    assert cache.kind == "image"
    assert [one.name for one in cache.contents()] == [str(tmp_path)]


def test_caches_of_a_wrong_type_are_an_error_that_names_the_plugin(load: Callable[..., Host], tmp_path: Path) -> None:
    host = load(slurm="@hookimpl\ndef kinetic_caches(): return ['/tmp']")

    with pytest.raises(PluginError, match=r"plugin 'slurm' .*list or tuple of Cache"):
        host.caches(tmp_path)
