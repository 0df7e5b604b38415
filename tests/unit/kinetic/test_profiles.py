"""Profiles: read leniently where that is safe, written atomically and privately, never replaced when damaged."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic.profiles import FIELDS, Profile, Profiles, load_profiles
from kinetic_core.errors import ConfigError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".kinetic" / "profiles.json"


def test_what_is_saved_is_read_back(path: Path) -> None:
    work = Profile(project="p", zone="z", ignore=("gitignore", "konduktor"))
    made = Profiles(path=path).with_profile("work", work).with_profile("home", Profile()).using("work")

    made.save()

    assert load_profiles(path) == made


def test_the_file_and_its_directory_are_private(path: Path) -> None:
    Profiles(path=path).with_profile("a", Profile(project="p")).save()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_an_open_file_of_others_becomes_private_when_written(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o644)

    load_profiles(path).with_profile("a", Profile()).save()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_linked_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    path.parent.mkdir()
    path.symlink_to(target)

    load_profiles(path).with_profile("a", Profile(zone="z")).save()

    assert path.is_symlink()
    assert load_profiles(target).get("a").zone == "z"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe{}",
        b'{"profiles": []}',
        b'{"profiles": {"a": 1}}',
        b'{"profiles": {"a": {"zone": 7}}}',
        b'{"profiles": {"a": {"zone": " "}}}',
        b'{"profiles": {"a": {"ignore": [1]}}}',
        b'{"profiles": {"a": {"ignore": {}}}}',
        b'{"active": 1}',
        b'{"format": "one"}',
    ],
)
def test_a_damaged_file_is_named_and_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        load_profiles(path)

    assert str(path) in str(caught.value)
    assert "damaged" in str(caught.value)
    assert path.read_bytes() == content


def test_a_newer_format_is_refused_rather_than_misread(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"format": 2}')

    with pytest.raises(ConfigError, match="newer"):
        load_profiles(path)


def test_a_file_that_cannot_be_read_is_named(path: Path) -> None:
    path.mkdir(parents=True)

    with pytest.raises(ConfigError, match="cannot read the profiles file"):
        load_profiles(path)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="cannot write the profiles file"):
        Profiles(path=tmp_path / "file" / "profiles.json").save()


def test_keys_of_a_newer_version_survive_a_change(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"later": 1, "profiles": {"a": {"zone": "z", "quota": {"gpu": 4}}}}))

    load_profiles(path).with_profile("b", Profile()).save()

    raw = json.loads(path.read_text())
    assert raw["later"] == 1
    assert raw["profiles"]["a"] == {"zone": "z", "quota": {"gpu": 4}}


def test_a_failed_write_leaves_the_old_file_and_no_other(path: Path) -> None:
    Profiles(path=path).with_profile("a", Profile()).save()
    before = path.read_bytes()

    with pytest.raises(UnicodeEncodeError):
        Profiles(path=path).with_profile("a", Profile(zone="\udcff")).save()

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_removing_the_active_profile_leaves_none_active(path: Path) -> None:
    made = Profiles(path=path).with_profile("a", Profile()).with_profile("b", Profile()).using("a")

    assert made.without("a") == Profiles(path=path).with_profile("b", Profile())
    assert made.without("b").active == "a"


@pytest.mark.parametrize("change", ["get", "without", "using"])
def test_an_unknown_name_is_refused_and_the_known_ones_listed(path: Path, change: str) -> None:
    made = Profiles(path=path).with_profile("alpha", Profile()).with_profile("beta", Profile())

    with pytest.raises(ConfigError, match=r"Did you mean 'alpha'\? It holds: alpha, beta"):
        getattr(made, change)("alhpa")


def test_with_no_profiles_at_all_the_message_says_how_to_make_one(path: Path) -> None:
    with pytest.raises(ConfigError, match="kinetic profile create work"):
        Profiles(path=path).get("work")


@pytest.mark.parametrize("name", ["", "a b", "../x", "-a", "a\n", "é", "a" * 65])
def test_names_that_are_awkward_on_a_command_line_are_refused(path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="a profile's name"):
        Profiles(path=path).with_profile(name, Profile())


_text = st.text(min_size=1).filter(str.strip)


@given(said=st.dictionaries(st.sampled_from([name for name in FIELDS if name != "ignore"]), _text))
def test_any_profile_survives_json(said: dict[str, Any]) -> None:
    made = Profile(**said)

    assert Profile.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_options_of_stores_are_kept_and_never_shown(path: Path) -> None:
    profile = Profile(storage="s3://b", storage_options={"s3": {"secret": "hush"}})
    Profiles(path=path).with_profile("work", profile).save()
    assert load_profiles(path).get("work") == profile
    assert "hush" not in repr(profile)
    assert "storage_options" not in profile.values()


def test_options_of_stores_that_are_no_object_of_objects_damage_the_file(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"profiles": {"work": {"storage_options": {"secret": "hush"}}}}')
    with pytest.raises(ConfigError, match="storage_options must be a JSON object") as refused:
        load_profiles(path)
    assert "hush" not in str(refused.value)
