"""`kinetic config` prints each value with its source, and no secret."""

import json
from pathlib import Path
from typing import Any

from tests.system.cli.conftest import Cli


def settings_of(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed)["settings"]
    return found


def test_each_value_comes_with_its_source(cli: Cli, home: Path) -> None:
    cli("profile", "create", "work", "--zone", "europe-west4-b", "--ignore", "gitignore", "--use")

    ended = cli("config", "--json", KINETIC_BACKEND="local", GOOGLE_CLOUD_PROJECT="p", KINETIC_PACKAGE_ROOT="/srv")

    found = json.loads(ended.stdout)
    assert found["profile"] == "work"
    assert found["profiles_file"] == str(home / ".kinetic" / "profiles.json")
    assert found["settings"] == {
        "backend": {"value": "local", "source": "KINETIC_BACKEND"},
        "storage": {"value": None, "source": "default"},
        "project": {"value": "p", "source": "GOOGLE_CLOUD_PROJECT"},
        "zone": {"value": "europe-west4-b", "source": "profile 'work'"},
        "cluster": {"value": "kinetic-cluster", "source": "default"},
        "namespace": {"value": "default", "source": "default"},
        "base_image_repo": {"value": "kinetic", "source": "default"},
        "output_dir": {"value": None, "source": "default"},
        "ignore": {"value": ["gitignore"], "source": "profile 'work'"},
        "allowed_serialization": {"value": ["json", "pickle"], "source": "default"},
        "isolation": {"value": "process", "source": "default"},
        "python": {"value": None, "source": "default"},
        "hosts": {"value": 1, "source": "default"},
        "package_root": {"value": "/srv", "source": "KINETIC_PACKAGE_ROOT"},
        "no_default_excludes": {"value": "0", "source": "default"},
        "context_size_warn_mb": {"value": "100", "source": "default"},
        "payload_size_warn_mb": {"value": "50", "source": "default"},
        "cache": {"value": "on", "source": "default"},
        "log_level": {"value": None, "source": "default"},
    }


def test_text_is_plain_columns_when_piped(cli: Cli) -> None:
    ended = cli("config", KINETIC_STORAGE="file:///srv/store")

    assert "storage                file:///srv/store                 KINETIC_STORAGE" in ended.stdout.splitlines()
    assert "\x1b" not in ended.stdout
    assert ended.stderr == ""


def test_credentials_in_values_are_hidden_in_text_and_json(cli: Cli) -> None:
    environ = {
        "KINETIC_STORAGE": "s3://keyid:t0psecret@bucket/prefix?token=t0psecret",
        "KINETIC_PROJECT": "hf_t0psecretabcdefgh",
    }

    printed = cli("config", **environ).stdout + cli("config", "--json", **environ).stdout

    assert "t0psecret" not in printed
    assert printed.count("s3://(hidden)@bucket/prefix?(hidden)") == 2


def test_a_damaged_profiles_file_is_one_clean_line_and_exit_code_1(cli: Cli, home: Path) -> None:
    path = home / ".kinetic" / "profiles.json"
    path.parent.mkdir()
    path.write_text("{")

    ended = cli("config")

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"kinetic: the profiles file {path} is damaged: ")
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stdout == ""


def test_a_log_level_that_does_not_exist_is_told_once_and_ignored(cli: Cli) -> None:
    ended = cli("config", KINETIC_LOG_LEVEL="LOUD")

    assert ended.returncode == 0
    assert ended.stderr.startswith("kinetic: KINETIC_LOG_LEVEL is ignored: unknown log level 'LOUD'")
