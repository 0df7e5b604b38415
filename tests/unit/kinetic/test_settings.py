"""Settings: precedence, provenance, and what this process looks like."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kinetic import settings
from kinetic.settings import ARGUMENT, DEFAULT, SETTINGS, Provenance
from kinetic_core.errors import ConfigError
from kinetic_core.model.request import RunOptions, Surroundings


def make_surroundings(home: Path, environ: Mapping[str, str] | None = None) -> Surroundings:
    return Surroundings(environ=environ or {}, home=home, cwd=home, sys_path=())


def write_profiles(home: Path, *, active: str | None = "work", **fields: Any) -> Path:
    path = home / ".kinetic" / "profiles.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"format": 1, "active": active, "profiles": {"work": fields}}))
    return path


def test_defaults_fill_in_what_nobody_said(tmp_path: Path) -> None:
    resolved = settings.resolve(RunOptions(), make_surroundings(tmp_path))

    assert resolved.options == RunOptions(
        zone="us-central1-a",
        cluster="kinetic-cluster",
        namespace="default",
        base_image_repo="kinetic",
        allowed_serialization=("json", "pickle"),
        isolation="process",
        hosts=1,
    )
    assert {provenance.source for provenance in resolved.provenance.values()} == {DEFAULT}
    assert resolved.profile is None


@pytest.mark.parametrize("field", ["project", "zone", "cluster", "namespace", "backend", "storage"])
def test_argument_beats_variable_beats_profile(tmp_path: Path, field: str) -> None:
    write_profiles(tmp_path, **{field: "from-profile"})
    variables = {f"KINETIC_{field.upper()}": "from-variable"}
    said: dict[str, Any] = {field: "from-argument"}
    options = RunOptions(**said)

    by_argument = settings.resolve(options, make_surroundings(tmp_path, variables))
    by_variable = settings.resolve(RunOptions(), make_surroundings(tmp_path, variables))
    by_profile = settings.resolve(RunOptions(), make_surroundings(tmp_path))

    assert by_argument.provenance[field] == Provenance(value="from-argument", source=ARGUMENT)
    assert by_variable.provenance[field] == Provenance(value="from-variable", source=f"KINETIC_{field.upper()}")
    assert by_profile.provenance[field] == Provenance(value="from-profile", source="profile 'work'")
    assert getattr(by_variable.options, field) == "from-variable"


def test_google_cloud_project_comes_after_the_profile(tmp_path: Path) -> None:
    google = {"GOOGLE_CLOUD_PROJECT": "google"}

    alone = settings.resolve(RunOptions(), make_surroundings(tmp_path, google))
    ours = settings.resolve(RunOptions(), make_surroundings(tmp_path, {**google, "KINETIC_PROJECT": "ours"}))
    write_profiles(tmp_path, project="profiled")
    profiled = settings.resolve(RunOptions(), make_surroundings(tmp_path, google))

    assert alone.provenance["project"] == Provenance(value="google", source="GOOGLE_CLOUD_PROJECT")
    assert ours.options.project == "ours"
    assert profiled.options.project == "profiled"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
@pytest.mark.parametrize("empty", ["", "  ", "\n"])
def test_empty_variables_count_as_unset(tmp_path: Path, setting: settings.Setting, empty: str) -> None:
    environ = {setting.variable: empty, setting.fallback_variable or "UNUSED": empty}

    found = settings.resolve(RunOptions(), make_surroundings(tmp_path, environ)).provenance[setting.name]

    assert found == Provenance(value=setting.default, source=DEFAULT)


@pytest.mark.parametrize(("variable", "field"), [("KINETIC_IGNORE", "ignore")])
def test_lists_are_split_at_commas_and_empty_parts_dropped(tmp_path: Path, variable: str, field: str) -> None:
    resolved = settings.resolve(RunOptions(), make_surroundings(tmp_path, {variable: " gitignore, konduktor,,"}))

    assert getattr(resolved.options, field) == ("gitignore", "konduktor")


def test_a_list_of_nothing_but_commas_counts_as_unset(tmp_path: Path) -> None:
    resolved = settings.resolve(RunOptions(), make_surroundings(tmp_path, {"KINETIC_ALLOWED_SERIALIZATION": " , "}))

    assert resolved.provenance["allowed_serialization"].source == DEFAULT


def test_allowed_serialization_argument_wins_over_the_variable_even_when_it_allows_nothing(tmp_path: Path) -> None:
    environ = {"KINETIC_ALLOWED_SERIALIZATION": "json"}

    by_variable = settings.resolve(RunOptions(), make_surroundings(tmp_path, environ))
    narrowed = settings.resolve(RunOptions(allowed_serialization=()), make_surroundings(tmp_path, environ))

    assert by_variable.options.allowed_serialization == ("json",)
    assert narrowed.options.allowed_serialization == ()


def test_a_profile_gives_its_list_of_ignore_dialects(tmp_path: Path) -> None:
    write_profiles(tmp_path, ignore=["gitignore"])

    assert settings.resolve(RunOptions(), make_surroundings(tmp_path)).options.ignore == ("gitignore",)


def test_the_variable_selects_the_profile_over_the_active_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"active": "a", "profiles": {"a": {"zone": "za"}, "b": {"zone": "zb"}}}))
    environ = {"KINETIC_PROFILES_FILE": str(path), "KINETIC_PROFILE": "b"}

    resolved = settings.resolve(RunOptions(), make_surroundings(tmp_path, environ))

    assert (resolved.profile, resolved.options.zone) == ("b", "zb")


def test_an_unknown_profile_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    write_profiles(tmp_path)

    with pytest.raises(ConfigError, match=r"unknown profile 'wrok' .*Did you mean 'work'\?"):
        settings.resolve(RunOptions(), make_surroundings(tmp_path, {"KINETIC_PROFILE": "wrok"}))


@pytest.mark.parametrize(
    ("given", "expected"), [("~/p.json", "home/p.json"), ("p.json", "cwd/p.json"), ("", "home/.kinetic/profiles.json")]
)
def test_the_profiles_file_is_expanded_by_hand(tmp_path: Path, given: str, expected: str) -> None:
    where = Surroundings(
        environ={"KINETIC_PROFILES_FILE": given}, home=tmp_path / "home", cwd=tmp_path / "cwd", sys_path=()
    )

    assert settings.profiles_path(where) == tmp_path / expected


def test_options_that_no_variable_fills_in_stay_as_they_are(tmp_path: Path) -> None:
    options = RunOptions(accelerator="cpu", retries=3, labels={"a": "b"}, serialization="json", timeout=5.0)

    resolved = settings.resolve(options, make_surroundings(tmp_path, {"KINETIC_ACCELERATOR": "gpu"})).options

    assert (resolved.accelerator, resolved.retries, resolved.labels) == ("cpu", 3, {"a": "b"})
    assert (resolved.serialization, resolved.timeout) == ("json", 5.0)


def test_surroundings_are_a_snapshot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KINETIC_TEST", "before")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "lib", 7])

    taken = settings.surroundings()
    monkeypatch.setenv("KINETIC_TEST", "after")

    assert taken.environ["KINETIC_TEST"] == "before"
    assert (taken.home, taken.cwd) == (tmp_path, Path.cwd())
    assert taken.sys_path == ("", "lib")


def test_without_home_the_account_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")
    monkeypatch.setenv("HOME", "")

    assert settings.surroundings().home == Path(pwd.getpwuid(os.getuid()).pw_dir)


def test_a_removed_working_directory_is_named_plainly(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = (
        "import os, sys\n"
        # Before the directory goes: CPython 3.13.0 itself cannot import extension modules from one that is gone.
        "from kinetic import settings\n"
        "from kinetic_core.errors import ConfigError\n"
        "os.chdir(sys.argv[1]); os.rmdir(sys.argv[1])\n"
        "try: settings.surroundings()\n"
        "except ConfigError as error: print(error)\n"
    )
    checkout = Path(settings.__file__).parents[1]

    ended = subprocess.run(
        [sys.executable, "-c", program, str(gone)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(checkout)},
    )

    assert "no longer exists" in ended.stdout


@pytest.mark.parametrize(("value", "inside"), [("job-0a1b2c3d", True), ("", False), (None, False)])
def test_a_job_knows_that_it_is_one(value: str | None, inside: bool) -> None:
    assert settings.in_pod({} if value is None else {"KINETIC_JOB_ID": value}) is inside


@pytest.mark.parametrize(
    ("text", "expected"),
    [("alice", "alice"), ("Ada Lovelace", "ada-lovelace"), ("--x--", "x"), ("", "x"), ("a" * 50, "a" * 40)],
)
def test_names_are_made_safe_for_object_stores(text: str, expected: str) -> None:
    assert settings.safe_name(text) == expected


def test_the_store_folder_is_stable_and_differs_between_users(tmp_path: Path) -> None:
    ada, again, bob = (
        settings.store_folder(make_surroundings(tmp_path, {"LOGNAME": name})) for name in ("ada", "ada", "bob")
    )

    assert ada == again
    assert ada.startswith("ada-")
    assert len(ada) == len("ada-") + 8
    assert ada.removeprefix("ada-") != bob.removeprefix("bob-")


@pytest.mark.parametrize(
    ("value", "mode"), [(None, "on"), ("", "on"), ("on", "on"), (" off ", "off"), ("verify", "verify")]
)
def test_the_cache_is_on_unless_said_otherwise(value: str | None, mode: str) -> None:
    assert settings.cache_mode({} if value is None else {"KINETIC_CACHE": value}) == (mode, ())


@pytest.mark.parametrize("value", ["OFF", "0", "no", "false"])
def test_a_cache_mode_that_means_nothing_is_told_with_the_ones_that_do(value: str) -> None:
    mode, (finding,) = settings.cache_mode({"KINETIC_CACHE": value})
    assert mode == "on"
    assert repr(value) in finding.message
    assert "on, off, verify" in finding.remedy


def test_options_of_stores_are_the_profiles_and_the_variables_over_them(tmp_path: Path) -> None:
    write_profiles(tmp_path, storage_options={"s3": {"key": "theirs", "anon": False}, "gs": {"project": "p"}})
    said = make_surroundings(tmp_path, {"KINETIC_STORAGE_OPTIONS": '{"s3": {"key": "ours"}, "abfs": {}}'})
    assert settings.storage_options(said) == {
        "s3": {"key": "ours", "anon": False},
        "gs": {"project": "p"},
        "abfs": {},
    }
    assert settings.storage_options(make_surroundings(tmp_path / "elsewhere")) == {}


@pytest.mark.parametrize("text", ["{hush", '{"key": "hush"}', '["hush"]'])
def test_options_that_are_no_object_of_objects_are_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="KINETIC_STORAGE_OPTIONS must be a JSON object with an object") as refused:
        settings.storage_options(make_surroundings(tmp_path, {"KINETIC_STORAGE_OPTIONS": text}))
    assert "hush" not in str(refused.value)


def test_how_local_jobs_run_can_be_said_without_touching_the_code(tmp_path: Path) -> None:
    variables = {"KINETIC_ISOLATION": "venv", "KINETIC_PYTHON": "3.12", "KINETIC_HOSTS": "4"}
    options = settings.resolve(RunOptions(python="3.13"), make_surroundings(tmp_path, variables)).options
    assert (options.isolation, options.python, options.hosts) == ("venv", "3.13", 4)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("KINETIC_HOSTS", "0", "KINETIC_HOSTS must be a whole number of 1 or more, got '0'"),
        ("KINETIC_HOSTS", "two", "KINETIC_HOSTS must be a whole number of 1 or more, got 'two'"),
        ("KINETIC_ISOLATION", "docker", "isolation must be one of 'process', 'venv', got 'docker'"),
    ],
)
def test_a_variable_that_cannot_be_used_is_refused(tmp_path: Path, variable: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        settings.resolve(RunOptions(), make_surroundings(tmp_path, {variable: value}))


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [
        ("isolation", "KINETIC_ISOLATION", "vm"),
        ("output_dir", "KINETIC_OUTPUT_DIR", "x"),
        ("hosts", "KINETIC_HOSTS", "9999"),
    ],
)
def test_a_value_that_is_refused_is_told_with_where_it_was_said(
    tmp_path: Path, name: str, variable: str, value: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        settings.resolve(RunOptions(), make_surroundings(tmp_path, {variable: value, "KINETIC_ZONE": "z"}))
    assert caught.value.__notes__ == [f"{name} was said by {variable}"]
