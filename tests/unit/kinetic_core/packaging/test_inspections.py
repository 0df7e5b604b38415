from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.entry import ArchiveEntries, ArchiveEntry
from kinetic_core.model.package import Artifact, Manifest, Package, PayloadComponent
from kinetic_core.model.request import RunOptions, RunRequest
from kinetic_core.packaging.inspections import inspect, megabytes
from tests.unit.kinetic_core.packaging.trees import package_root, surroundings

if TYPE_CHECKING:
    from kinetic_core.model.listing import Listed

MB = 1024**2


def package(
    files: dict[str, int] | None = None,
    *,
    context_bytes: int = 1000,
    payload_bytes: int = 1000,
    components: dict[str, int] | None = None,
) -> Package:
    entries = {**(files or {}), ".kinetic/plan.json": 150}
    return Package(
        root=package_root(Path("/p")),
        plan={},
        context=Artifact(path=Path("/c"), size_bytes=context_bytes, sha256=""),
        payload=Artifact(path=Path("/l"), size_bytes=payload_bytes, sha256=""),
        manifest=Manifest(
            entries=tuple(ArchiveEntry(name=name, size_bytes=entries[name], mode=0o644) for name in sorted(entries))
        ),
        payload_components=tuple(
            PayloadComponent(name=name, size_bytes=size) for name, size in (components or {}).items()
        ),
    )


def inspected(made: Package, environ: dict[str, str] | None = None) -> dict[str, Finding]:
    request = RunRequest(
        job_id="job-0", function=print, options=RunOptions(), name="print", surroundings=surroundings(environ=environ)
    )
    findings = inspect(made, request)
    by_code = {finding.code: finding for finding in findings}
    assert len(by_code) == len(findings)
    return by_code


def test_size_and_file_count_are_told_on_every_submit() -> None:
    found = inspected(package({"a": 1, "b/": 0, "c": 2}, context_bytes=3 * MB))
    assert list(found) == ["context_archived"]
    assert found["context_archived"].severity is Severity.INFO
    assert "2 files" in found["context_archived"].message
    assert "3.0 MB" in found["context_archived"].message


def test_one_file_is_one_file() -> None:
    assert "1 file and" in inspected(package({"a": 1}))["context_archived"].message


def test_one_warning_names_every_archived_file_whose_name_looks_like_a_secret() -> None:
    names = [".env", "sub/.env.local", "id_rsa.pub", "x.pem", ".environment", "keys/id_rsa"]
    others = ["environment.py", "env", "pem", "x.pem.txt", ".env.d/plain", "my_id_rsa", "X.PEM"]
    finding = inspected(package(dict.fromkeys([*names, *others, ".env/"], 1)))["secret_looking_files"]
    assert finding.severity is Severity.WARNING
    assert finding.message.partition(": ")[2].split(", ") == sorted(names)
    assert ".kineticignore" in finding.remedy


def test_a_secret_looking_name_is_shown_printably() -> None:
    assert r"a\nb.pem" in inspected(package({"a\nb.pem": 1}))["secret_looking_files"].message


def test_a_large_context_lists_the_five_largest_files_with_sizes_largest_first() -> None:
    files = {"a": 3 * MB, "b": 9 * MB, "c": 1 * MB, "d": 7 * MB, "e": 7 * MB, "f": 2 * MB, "g": 5 * MB}
    finding = inspected(package(files, context_bytes=100 * MB + 1))["context_large"]
    assert finding.severity is Severity.WARNING
    listed = "b (9.0 MB), d (7.0 MB), e (7.0 MB), g (5.0 MB), a (3.0 MB)"
    assert finding.message.endswith(listed)
    assert "KINETIC_CONTEXT_SIZE_WARN_MB" in finding.remedy


def test_a_large_payload_explains_capture_by_value_and_names_what_weighs_most() -> None:
    components = {"argument 0": 1 * MB, "global 'DF' of module trainer": 60 * MB}
    finding = inspected(package(payload_bytes=50 * MB + 1, components=components))["payload_large"]
    assert finding.severity is Severity.WARNING
    assert "captured by value" in finding.message
    assert finding.message.endswith("global 'DF' of module trainer (60.0 MB), argument 0 (1.0 MB)")


def test_a_large_payload_of_unknown_parts_is_warned_of_too() -> None:
    assert "heaviest" not in inspected(package(payload_bytes=51 * MB))["payload_large"].message


def test_exactly_the_threshold_is_no_warning() -> None:
    assert list(inspected(package(context_bytes=100 * MB, payload_bytes=50 * MB))) == ["context_archived"]


def test_thresholds_can_be_set_and_turned_off() -> None:
    made = package(context_bytes=200 * MB, payload_bytes=200 * MB)
    off = {"KINETIC_CONTEXT_SIZE_WARN_MB": "0", "KINETIC_PAYLOAD_SIZE_WARN_MB": "0"}
    high = {"KINETIC_CONTEXT_SIZE_WARN_MB": "1e3", "KINETIC_PAYLOAD_SIZE_WARN_MB": "200.5"}
    unset = {"KINETIC_CONTEXT_SIZE_WARN_MB": "", "KINETIC_PAYLOAD_SIZE_WARN_MB": ""}
    assert list(inspected(made, off)) == list(inspected(made, high)) == ["context_archived"]
    assert list(inspected(made, unset)) == ["context_archived", "context_large", "payload_large"]
    low = {"KINETIC_CONTEXT_SIZE_WARN_MB": "0.0001", "KINETIC_PAYLOAD_SIZE_WARN_MB": "0.0001"}
    assert list(inspected(package(), low)) == ["context_archived", "context_large", "payload_large"]


@pytest.mark.parametrize("name", ["KINETIC_CONTEXT_SIZE_WARN_MB", "KINETIC_PAYLOAD_SIZE_WARN_MB"])
@pytest.mark.parametrize("value", ["abc", "-1", "nan", "inf", "-inf", "1MB", " "])
def test_a_threshold_that_is_no_finite_number_of_0_or_more_is_ignored_naming_variable_and_value(
    name: str, value: str
) -> None:
    found = inspected(package(context_bytes=101 * MB, payload_bytes=51 * MB), {name: value})
    assert set(found) == {"context_archived", "context_large", "payload_large", "setting_ignored"}
    assert found["setting_ignored"].severity is Severity.WARNING
    assert name in found["setting_ignored"].message
    assert repr(value) in found["setting_ignored"].message


def test_a_mb_is_1024_squared_bytes() -> None:
    assert megabytes(1024**2) == "1.0 MB"
    assert megabytes(1024**2 - 1) == "1024.0 KB"
    assert megabytes(1023) == "1023 bytes"


def test_names_that_only_hold_what_a_secrets_name_holds_are_no_secrets() -> None:
    assert list(inspected(package({"x.pem.txt": 1, "my_id_rsa": 1, ".env/plain": 1}))) == ["context_archived"]


def test_many_files_are_counted_without_looking_at_one() -> None:
    rows: list[Listed] = [(f"d/{number}", (0o100644, 1, 1, 1, 0, 0, 1), 0, 0) for number in range(1000)]

    class Counted(ArchiveEntries):
        def __iter__(self) -> Iterator[ArchiveEntry]:
            pytest.fail("an entry was looked at")

    made = attrs.evolve(package(), manifest=Manifest(entries=Counted(rows)))
    assert "1000 files" in inspected(made)["context_archived"].message
