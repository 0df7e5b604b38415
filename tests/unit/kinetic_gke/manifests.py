"""Jobs of every kind, and the objects that the cluster would be sent for them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from kinetic_core.model.job import JobSpec, StagedArtifact
from kinetic_core.model.request import RunOptions
from kinetic_core.wire.reference import Reference
from kinetic_gke.manifest.array import ArraySpec, array_manifest
from kinetic_gke.manifest.job import job_manifest
from kinetic_gke.manifest.secret import secret_manifest
from kinetic_gke.manifest.service import service_manifest
from kinetic_gke.manifest.site import Site
from kinetic_gke.manifest.table import tables_of

GOLDEN = Path(__file__).parents[2] / "golden/gke"
STORE = "gs://acme-kn-kinetic-cluster-jobs"
UID = "6f0a3c1e-5d0e-4f0c-9a53-0c6a1b2d3e4f"
BUNDLED = Site(namespace="research", image="europe-docker.pkg.dev/acme/kinetic/job:0f3a", run_as_user=65532)
BARE = Site(
    namespace="default", image="python:3.12-slim", runner_image="europe-docker.pkg.dev/acme/kinetic/runner:0.1.0"
)


def job_spec(job_id: str = "job-0a1b2c3d", **options: Any) -> JobSpec:
    """Return a job on a CPU, or with other options."""
    url = f"{STORE}/{job_id}"
    return JobSpec(
        job_id=job_id,
        name="train_model",
        options=RunOptions(**{"accelerator": "cpu", **options}),
        context=StagedArtifact(url=f"{url}/context.zip", sha256="c0" * 32, size_bytes=1),
        payload=StagedArtifact(url=f"{url}/payload.pkl", sha256="da" * 32, size_bytes=1),
        requirements=StagedArtifact(url=f"{url}/requirements.txt", sha256="5e" * 32, size_bytes=1),
        result_url=f"{url}/result.pkl",
        job_url=url,
        output_dir=f"{STORE}/outputs/{job_id}",
    )


def volume(uri: str, mount: str, *, fuse: bool) -> dict[str, Any]:
    """Return a volume as a job spec has it."""
    return Reference(uri=uri, is_dir=uri.endswith("/"), mount_path=mount, fuse=fuse).to_dict()


def objects(spec: JobSpec, site: Site = BUNDLED) -> list[dict[str, Any]]:
    """Return all that is created for a job."""
    made = [
        job_manifest(spec, site),
        secret_manifest(spec, site, owner_uid=UID),
        service_manifest(spec, site, owner_uid=UID),
    ]
    return [one for one in made if one is not None]


def numbered(number: int, *, attempt: int = 1, attempts: int = 1, **options: Any) -> JobSpec:
    """Return a job of a batch, as the client lays batches out."""
    folder = f"{STORE}/batches-of/batch-0a1b2c3d"
    first = 0x0A1B2C3D + number * attempts
    return attrs.evolve(
        job_spec(f"job-{first + attempt - 1:08x}", **options),
        context=StagedArtifact(url=f"{STORE}/context.zip", sha256="c0" * 32, size_bytes=1),
        requirements=None,
        payload=StagedArtifact(url=f"{folder}/payloads/{number}.pkl", sha256="da" * 32, size_bytes=1),
        result_url=f"{folder}/jobs/{number}-{attempt}/result.pkl",
        job_url=f"{folder}/jobs/{number}-{attempt}",
        output_dir=f"{STORE}/outputs/job-{first:08x}",
    )


def array_of(count: int, **options: Any) -> ArraySpec:
    """Return a batch of so many jobs."""
    specs = [numbered(number, **options) for number in range(count)]
    (table,), alone = tables_of(specs)
    assert alone == []
    return ArraySpec(spec=specs[0], table=table, max_concurrent=64)


CASES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "cpu": lambda: objects(job_spec()),
    "cpu-bare-image": lambda: objects(job_spec(), BARE),
    "cpu-prebuilt": lambda: objects(
        job_spec(), attrs.evolve(BUNDLED, installs_requirements=True, cpu="4", memory="16Gi")
    ),
    "cpu-token": lambda: objects(job_spec(), attrs.evolve(BUNDLED, service_account="trainer", mounts_token=True)),
    "gpu": lambda: objects(job_spec(accelerator="a100-80gbx4", timeout=3600.5)),
    "gpu-any": lambda: objects(job_spec(accelerator="gpu:2")),
    "gpu-arm-spot": lambda: objects(job_spec(accelerator="gb200:spot", retries=3)),
    "tpu": lambda: objects(job_spec(accelerator="v5litepod-8", spot=True, retries=1)),
    "tpu-slice": lambda: objects(job_spec(accelerator="v5litepod-16"), attrs.evolve(BUNDLED, memory="100Gi")),
    "secrets": lambda: objects(
        attrs.evolve(job_spec(labels={"team": "vision & language"}), secrets={"WANDB_API_KEY": "w", "HF_TOKEN": "h"})
    ),
    "queue": lambda: objects(job_spec(labels={"kueue.x-k8s.io/queue-name": "research", "team": "a"}, accelerator="l4")),
    "debug": lambda: objects(job_spec(debug=True)),
    "volumes": lambda: objects(
        attrs.evolve(
            job_spec(),
            volumes=(
                volume("gs://sets/images/2026/", "/data/images", fuse=True),
                volume("gs://sets", "/data/all", fuse=True),
                volume("gs://weights/llm/7b/model.bin", "/weights/model.bin", fuse=True),
                volume(f"{STORE}/cache/0f/", "/data/small", fuse=False),
                volume(f"{STORE}/cache/1e/table.csv", "/data/table.csv", fuse=False),
            ),
        )
    ),
    "array": lambda: [array_manifest(array_of(10_000, accelerator="l4:spot", retries=2), BUNDLED)],
}


def written(made: list[dict[str, Any]]) -> str:
    """Return the text of a golden file."""
    return f"{json.dumps(made, indent=2)}\n"


def main() -> None:
    """Write the golden files anew; look at the difference before you commit it."""
    for name, make in CASES.items():
        GOLDEN.joinpath(f"{name}.json").write_text(written(make()), encoding="utf-8")


if __name__ == "__main__":
    main()
