"""The keywords of `kinetic.run`."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic.api.options import RunKeywords, change_options
from kinetic_core.errors import ConfigError, UsageError
from kinetic_core.model.request import RunOptions
from kinetic_core.references.data import Data


def test_the_typed_keywords_are_the_options() -> None:
    assert sorted(RunKeywords.__annotations__) == sorted(field.name for field in attrs.fields(RunOptions))


def test_the_defaults_are_those_of_the_contract() -> None:
    said = {
        "accelerator": "tpu-v5e-1",
        "capture_env_vars": (),
        "secrets": (),
        "volumes": {},
        "file_mounts": {},
        "ignore": (),
        "spot": False,
        "retries": 0,
        "serialization": "pickle",
        "debug": False,
        "labels": {},
        "inherit_env": False,
    }
    # What is None here is filled in from environment, profile or default when the call is made.
    assert attrs.asdict(RunOptions()) == dict.fromkeys(RunKeywords.__annotations__) | said


def test_an_unknown_keyword_suggests_the_nearest() -> None:
    with pytest.raises(TypeError, match="no keyword 'acelerator'; did you mean 'accelerator'"):
        change_options(RunOptions(), {"acelerator": "cpu"})


def test_a_keyword_near_nothing_lists_them_all() -> None:
    with pytest.raises(TypeError, match="it takes accelerator, allowed_serialization"):
        change_options(RunOptions(), {"qqqq": 1})


@pytest.mark.parametrize(
    ("keywords", "error", "said"),
    [
        ({"accelerator": "tpu-v99"}, ValueError, "tpu-v99"),
        ({"accelerator": ""}, TypeError, "accelerator"),
        ({"backend": ""}, TypeError, "backend"),
        ({"capture_env_vars": "HF_*"}, TypeError, "capture_env_vars"),
        ({"capture_env_vars": [1]}, TypeError, "capture_env_vars"),
        ({"secrets": b"X"}, TypeError, "secrets"),
        ({"secrets": 3}, TypeError, "secrets"),
        ({"volumes": []}, TypeError, "volumes"),
        ({"volumes": {"data": 1}}, ValueError, "'data'"),
        ({"volumes": {3: 1}}, ValueError, "3"),
        ({"volumes": {"/data": "x"}}, TypeError, "kinetic.Data"),
        ({"labels": {"a": 1}}, TypeError, "labels"),
        ({"labels": [1]}, TypeError, "labels"),
        ({"spot": 1}, TypeError, "spot"),
        ({"debug": "yes"}, TypeError, "debug"),
        ({"retries": -1}, ValueError, "retries"),
        ({"retries": True}, TypeError, "retries"),
        ({"timeout": 0}, ValueError, "timeout"),
        ({"timeout": float("nan")}, ValueError, "timeout"),
        ({"timeout": float("inf")}, ValueError, "timeout must be a finite number of seconds above 0, or None for no"),
        ({"timeout": "1m"}, TypeError, "timeout"),
        ({"output_dir": "results"}, ValueError, "output_dir must be a URL"),
        ({"file_mounts": {"~/a": "b"}}, ValueError, "file_mounts"),
        ({"isolation": "docker"}, ValueError, "isolation must be one of 'process', 'venv', got 'docker'"),
        ({"python": 3.12}, TypeError, "python must be non-empty text or None, got 3.12"),
        ({"hosts": 0}, ValueError, "hosts must be from 1 to 1024, got 0"),
        ({"hosts": True}, TypeError, "hosts must be a whole number"),
        ({"inherit_env": "yes"}, TypeError, "inherit_env must be True or False"),
        ({"memory_limit": 1024}, TypeError, "memory_limit must be text such as '2Gi'"),
        ({"memory_limit": "2 GB"}, ValueError, "memory_limit: '2 GB' is no size"),
        ({"memory_limit": "0"}, ValueError, "memory_limit: '0' is no size"),
        ({"memory_limit": "-1"}, ValueError, "memory_limit: '-1' is no size"),
        ({"memory_limit": "abc"}, ValueError, "memory_limit: 'abc' is no size"),
        (
            {"cpu_time_limit": 0},
            ValueError,
            "cpu_time_limit must be a finite number of seconds above 0, or None for no limit, got 0",
        ),
        ({"cpu_time_limit": -1}, ValueError, "cpu_time_limit must be a finite number of seconds above 0"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(
    keywords: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        change_options(RunOptions(), keywords)
    assert isinstance(caught.value, UsageError | ConfigError)


def test_lists_and_dicts_are_copied_so_that_later_changes_do_nothing(tmp_path: Path) -> None:
    names, labels, volumes = ["A"], {"k": "v"}, {"/data": Data(str(tmp_path))}
    options = change_options(RunOptions(), {"capture_env_vars": names, "labels": labels, "volumes": volumes})
    names.append("B")
    labels.clear()
    volumes.clear()
    assert options.capture_env_vars == ("A",)
    assert options.labels == {"k": "v"}
    assert list(options.volumes) == ["/data"]


def test_none_is_the_same_as_not_said() -> None:
    keywords = {"volumes": None, "labels": None, "file_mounts": None, "timeout": None, "allowed_serialization": None}
    assert change_options(RunOptions(), keywords) == RunOptions()


def test_how_a_local_job_runs_is_kept_as_said() -> None:
    said = {"isolation": "venv", "python": "3.12", "hosts": 2, "memory_limit": "2Gi", "cpu_time_limit": 1.5}
    options = change_options(RunOptions(), said)
    assert {name: getattr(options, name) for name in said} == said


def test_one_dialect_or_format_may_be_given_as_text() -> None:
    options = change_options(RunOptions(), {"ignore": "gitignore", "allowed_serialization": "json"})
    assert (options.ignore, options.allowed_serialization) == (("gitignore",), ("json",))
