"""The built-in plugin, asked through the host like any other."""

from pathlib import Path

import attrs
import pytest

from kinetic.host import Host, load_host
from kinetic.testing.log import RecordingLog
from kinetic_core.errors import ConfigError
from kinetic_core.model.package import Artifact, Manifest, Package, PackageRoot
from kinetic_core.plugin import RunOptions, RunRequest, Surroundings
from kinetic_core.references.data import Data


@pytest.fixture
def host() -> Host:
    return load_host({"KINETIC_PLUGIN_AUTOLOAD": "0"}, log=RecordingLog())


def request_for(directory: Path, *, accelerator: str = "cpu", environ: dict[str, str] | None = None) -> RunRequest:
    return RunRequest(
        job_id="job-0a1b2c3d",
        function=len,
        options=RunOptions(accelerator=accelerator),
        name="len",
        surroundings=Surroundings(environ=environ or {}, home=directory, cwd=directory, sys_path=()),
    )


@pytest.mark.parametrize(
    ("accelerator", "backend"),
    [("cpu", "gke"), ("l4", "gke"), ("tpu-v5litepod-4", "gke"), ("v3-4x4", "pathways"), ("v3-4x4:spot", "pathways")],
)
def test_a_slice_of_several_hosts_goes_to_pathways_and_all_else_to_gke(
    accelerator: str, backend: str, host: Host, tmp_path: Path
) -> None:
    assert host.select_backend(request_for(tmp_path, accelerator=accelerator)) == backend


def test_an_unknown_accelerator_is_told_as_such(host: Host, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a1000"):
        host.select_backend(request_for(tmp_path, accelerator="a1000"))


def test_default_exclusions_are_rules_of_source_default(host: Host, tmp_path: Path) -> None:
    rules = host.exclude_rules(tmp_path, request_for(tmp_path))

    assert {rule.source for rule in rules} == {"default"}
    assert {".venv", "node_modules", ".DS_Store"} <= {rule.pattern for rule in rules}


@pytest.mark.parametrize("wrong", ["defaults", "nope"])
def test_the_default_exclusions_are_no_dialect(wrong: str, host: Host, tmp_path: Path) -> None:
    request = request_for(tmp_path)
    asked = attrs.evolve(request, options=RunOptions(accelerator="cpu", ignore=wrong))
    with pytest.raises(ConfigError, match=rf"no ignore dialect '{wrong}'\. Installed: gitignore \([^()]*\)$"):
        host.exclude_rules(tmp_path, asked)


@pytest.mark.parametrize(("value", "count"), [("1", 0), ("true", 9), ("0", 9), ("", 9)])
def test_default_exclusions_are_off_only_when_the_variable_is_exactly_1(
    value: str, count: int, host: Host, tmp_path: Path
) -> None:
    request = request_for(tmp_path, environ={"KINETIC_NO_DEFAULT_EXCLUDES": value})

    assert len(host.exclude_rules(tmp_path, request)) == count


def test_gitignore_files_have_no_effect_unless_asked_for(host: Host, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("weights.bin\n")
    (tmp_path / "weights.bin").touch()
    request = request_for(tmp_path)
    asking = attrs.evolve(request, options=attrs.evolve(request.options, ignore="gitignore"))

    assert "weights.bin" not in {rule.pattern for rule in host.exclude_rules(tmp_path, request)}
    assert ("weights.bin", "plugin:gitignore") in {
        (rule.pattern, rule.source) for rule in host.exclude_rules(tmp_path, asking)
    }


def test_data_is_a_reference_type(host: Host) -> None:
    assert [(kind.name, kind.python_type) for kind in host.reference_types()] == [("data", Data)]


def test_the_formats_are_pickle_and_json(host: Host) -> None:
    assert {name: serializer.suffix for name, serializer in host.serializers().items()} == {
        "pickle": ".pkl",
        "json": ".json",
    }


def test_a_large_archive_is_found_by_the_built_in_inspection(host: Host, tmp_path: Path) -> None:
    artifact = Artifact(path=tmp_path / "context.zip", size_bytes=3 * 1024**2, sha256="0" * 64)
    package = Package(
        root=PackageRoot(path=tmp_path, step="entry", reason="", trail=(), entry=tmp_path),
        plan={},
        context=artifact,
        payload=attrs.evolve(artifact, size_bytes=1),
        manifest=Manifest(entries=()),
    )
    request = request_for(tmp_path, environ={"KINETIC_CONTEXT_SIZE_WARN_MB": "2"})

    assert "context_large" in {finding.code for finding in host.inspect_package(package, request)}
