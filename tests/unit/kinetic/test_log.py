"""Logging: silent and unconfigured unless asked, and readable by a person when it matters."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import structlog

import kinetic_core
from kinetic import log
from kinetic.log import apply_environment, get_logger, report
from kinetic_core.errors import ConfigError
from kinetic_core.findings import Finding, Severity

CHECKOUT = Path(kinetic_core.__file__).parents[1]


def run_python(program: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **environ},
    )


def test_a_warning_reaches_stderr_as_one_readable_line_when_nothing_is_configured() -> None:
    ended = run_python(
        "from kinetic.log import get_logger\n"
        "get_logger('kinetic.x').warning('context_large', size_bytes=9,\n"
        "    message='the context weighs 212 MB', remedy='exclude what the job does not need')\n"
    )

    assert ended.stderr == "kinetic: the context weighs 212 MB; exclude what the job does not need\n"
    assert ended.stdout == ""


def test_a_warning_without_prose_tells_its_facts() -> None:
    ended = run_python("from kinetic.log import get_logger; get_logger().warning('link_skipped', path='a\\nb')")

    assert ended.stderr == "kinetic: link skipped (path='a\\nb')\n"


def test_information_is_silent_and_loads_no_structlog() -> None:
    ended = run_python(
        "import sys\n"
        "from kinetic.log import get_logger\n"
        "get_logger('kinetic.x').info('archive_written', size_bytes=9)\n"
        "get_logger('kinetic.x').debug('file_read')\n"
        "print('structlog' in sys.modules, 'attrs' in sys.modules)\n"
    )

    assert (ended.stdout, ended.stderr) == ("False False\n", "")


def test_logging_of_the_process_is_left_alone() -> None:
    ended = run_python(
        "import logging, structlog\n"
        "from kinetic.log import get_logger\n"
        "get_logger('kinetic.x').warning('w')\n"
        "print(logging.getLogger().handlers, logging.getLogger('kinetic').handlers, structlog.is_configured())\n"
    )

    assert ended.stdout == "[] [] False\n"


def test_enabled_logging_shows_information_with_its_details_on_stderr() -> None:
    ended = run_python(
        "from kinetic.log import enable_logging, get_logger\n"
        "enable_logging(); enable_logging('debug')\n"
        "get_logger('kinetic.x').info('archive_written', size_bytes=9)\n"
        "get_logger('kinetic.x').debug('file_read')\n"
    )

    first, second = ended.stderr.splitlines()
    assert first.endswith("INFO kinetic.x: archive_written size_bytes=9")
    assert second.endswith("DEBUG kinetic.x: file_read")


def test_enabled_logging_does_not_repeat_what_the_applications_handlers_show() -> None:
    ended = run_python(
        "import logging\n"
        "from kinetic.log import enable_logging, get_logger\n"
        "enable_logging()\n"
        "logging.basicConfig(format='app %(message)s')\n"
        "get_logger('kinetic.x').info('archive_written', size_bytes=9)\n"
    )

    assert ended.stderr == "app archive_written size_bytes=9\n"


def test_an_application_with_structlog_over_stdlib_sees_events_through_its_own_processors() -> None:
    ended = run_python(
        "import logging, structlog\n"
        "logging.basicConfig(format='%(message)s', level=logging.INFO)\n"
        "structlog.configure(processors=[structlog.processors.JSONRenderer(sort_keys=True)],\n"
        "    logger_factory=structlog.stdlib.LoggerFactory())\n"
        "from kinetic.log import get_logger\n"
        "get_logger('kinetic.x').info('job_ended', job_id='job-1')\n"
    )

    assert ended.stderr == '{"event": "job_ended", "job_id": "job-1"}\n'


def test_details_named_like_record_attributes_pass_through_a_foreign_chain() -> None:
    ended = run_python(
        "import logging, structlog\n"
        "logging.basicConfig(format='%(message)s %(message_)s %(name_)s', level=logging.INFO)\n"
        "structlog.configure(processors=[structlog.stdlib.render_to_log_kwargs],\n"
        "    logger_factory=structlog.stdlib.LoggerFactory())\n"
        "from kinetic.log import get_logger\n"
        "get_logger('kinetic.x').warning('plugin_rejected', message='no', name='dvc')\n"
    )

    assert ended.stderr == "plugin_rejected no dvc\n"


def test_an_application_with_structlog_on_stdout_gets_nothing_there() -> None:
    ended = run_python(
        "import structlog\n"
        "structlog.configure(processors=[structlog.processors.JSONRenderer()])\n"
        "from kinetic.log import get_logger\n"
        "get_logger('kinetic.x').warning('w', message='told')\n"
    )

    assert (ended.stdout, ended.stderr) == ("", "kinetic: told\n")


def test_records_carry_event_and_details_for_programs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kinetic"), structlog.contextvars.bound_contextvars(job_id="job-1"):
        get_logger("kinetic.y").info("archive_written", size_bytes=9)

    (record,) = caplog.records
    assert record.__dict__["kinetic"] == {"event": "archive_written", "size_bytes": 9, "job_id": "job-1"}
    assert (record.name, record.getMessage()) == ("kinetic.y", "archive_written size_bytes=9 job_id='job-1'")


def test_a_percent_sign_in_a_message_is_no_format(caplog: pytest.LogCaptureFixture) -> None:
    get_logger("kinetic.z").warning("odd", message="100%s of %d")

    assert caplog.messages == ["odd: 100%s of %d"]


@pytest.mark.parametrize("name", ["gke", "kineticx"])
def test_every_logger_lies_below_the_root(name: str, caplog: pytest.LogCaptureFixture) -> None:
    get_logger(name).warning("seen")

    assert [record.name for record in caplog.records] == [f"kinetic.{name}"]


def test_names_with_odd_bytes_stay_on_one_printable_line(caplog: pytest.LogCaptureFixture) -> None:
    get_logger().warning("file_skipped", message="a\nb\udcff\x1b[31m")

    assert caplog.messages == ["file_skipped: a\\nb\\udcff\\x1b[31m"]


def test_findings_are_reported_once_by_severity(caplog: pytest.LogCaptureFixture) -> None:
    info = Finding(code="root_chosen", severity=Severity.INFO, message="root is /p")
    warning = Finding(code="context_large", severity=Severity.WARNING, message="212 MB", remedy="exclude some")
    error = Finding(code="local_path", severity=Severity.ERROR, message="-e . cannot be installed")

    with caplog.at_level(logging.INFO, logger="kinetic"):
        report([warning, info, warning, error], get_logger("kinetic.s"))

    assert [(record.levelname, record.__dict__["kinetic"]["event"]) for record in caplog.records] == [
        ("WARNING", "context_large"),
        ("INFO", "root_chosen"),
        ("WARNING", "local_path"),
    ]


def test_the_variable_enables_logging_and_an_explicit_call_wins_over_it() -> None:
    ended = run_python(
        "import logging\n"
        "from kinetic.log import apply_environment, enable_logging, get_logger\n"
        "levels = []\n"
        "for act in (lambda: apply_environment(None), lambda: apply_environment(' info '),\n"
        "            lambda: apply_environment('debug'), lambda: enable_logging('ERROR'),\n"
        "            lambda: apply_environment('DEBUG')):\n"
        "    act(); levels.append(logging.getLogger('kinetic').level)\n"
        "print(levels, len(logging.getLogger('kinetic').handlers))\n"
    )

    assert ended.stdout == "[0, 20, 10, 40, 40] 1\n"


def test_a_level_that_does_not_exist_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    apply_environment("INFOO")

    (message,) = caplog.messages
    assert message.startswith("log_level_ignored: KINETIC_LOG_LEVEL is ignored: unknown log level 'INFOO'.")
    assert message.endswith("Did you mean 'INFO'? Known: DEBUG, INFO, WARNING, ERROR, CRITICAL")


def test_an_unknown_level_is_refused_when_asked_for_by_name() -> None:
    with pytest.raises(ConfigError, match="unknown log level True"):
        log.enable_logging(level=True)


def test_a_broken_stderr_harms_nobody() -> None:
    ended = run_python(
        "import sys\n"
        "from kinetic.log import enable_logging, get_logger\n"
        "enable_logging(10)\n"
        "real, sys.stderr = sys.stderr, None\n"
        "get_logger().info('archive_written')\n"
        "sys.stderr = real\n"
    )

    assert ended.returncode == 0


def test_many_threads_may_log_their_first_event_at_once() -> None:
    code = """
import threading, sys
from kinetic.log import get_logger
sys.setswitchinterval(1e-6)
failed = []
threading.excepthook = lambda told: failed.append(told.exc_value)
start = threading.Barrier(16)
def first():
    start.wait()
    get_logger("kinetic.x").warning("happened")
threads = [threading.Thread(target=first) for _ in range(16)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit(str(failed) if failed else 0)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("kinetic: happened")) == (0, 16)
