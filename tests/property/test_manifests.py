"""Any job makes objects that servers take, in which nothing stands that should not."""

import json
from collections.abc import Iterator
from typing import Any

import attrs
import kubernetes_validate
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetic_core.model.accelerator import parse_accelerator
from kinetic_gke.accelerators import hardware, listing
from kinetic_gke.manifest.site import Site
from tests.unit.kinetic_gke.manifests import job_spec, objects

OLDEST = "1.29"
MARK = "s3cr3t"
WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cs"]), max_size=80)
KEYS = st.from_regex(r"([a-z]{1,9}(\.[a-z]{1,9}){0,2}/)?x[a-zA-Z0-9_.-]{0,20}[a-z]", fullmatch=True)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)
SITES = st.builds(
    Site,
    namespace=st.just("default"),
    image=st.just("image"),
    runner_image=st.sampled_from(["", "runner"]),
    installs_requirements=st.booleans(),
    service_account=st.sampled_from(["", "trainer"]),
    mounts_token=st.booleans(),
    run_as_user=st.sampled_from([None, 1000]),
    cpu=st.sampled_from(["", "500m"]),
    memory=st.sampled_from(["", "4Gi"]),
)


@st.composite
def jobs(draw: st.DrawFn) -> Any:
    accelerator = draw(st.sampled_from(["cpu", "gpu", *(one.name for one in listing())]))
    many = hardware(parse_accelerator(accelerator)).hosts > 1
    spec = job_spec(
        accelerator=accelerator,
        spot=draw(st.booleans()),
        retries=0 if many else draw(st.integers(0, 5)),
        timeout=draw(st.none() | st.floats(0.1, 1e6)),
        debug=draw(st.booleans()),
        labels=draw(st.dictionaries(KEYS, WORDS, max_size=3)),
    )
    secrets = {name: f"{MARK}{value}" for name, value in draw(st.dictionaries(NAMES, WORDS, max_size=3)).items()}
    return attrs.evolve(spec, name=draw(WORDS), secrets=secrets)


def values(made: Any) -> Iterator[Any]:
    """Yield everything in an object that is neither mapping nor list."""
    if isinstance(made, dict):
        for value in made.values():
            yield from values(value)
    elif isinstance(made, list):
        for value in made:
            yield from values(value)
    else:
        yield made


@settings(max_examples=50)
@given(jobs(), SITES)
def test_any_job_makes_objects_that_a_server_takes(spec: Any, site: Site) -> None:
    made = objects(spec, site)
    kinds = [one["kind"] for one in made]
    assert kinds[0] == "Job"
    assert ("Secret" in kinds) is bool(spec.secrets)
    assert ("Service" in kinds) is (hardware(parse_accelerator(spec.options.accelerator)).hosts > 1)
    for one in made:
        kubernetes_validate.validate(one, OLDEST, strict=True)
        assert None not in list(values(one))
    assert MARK not in json.dumps(made)
    worker = made[0]["spec"]["template"]["spec"]["containers"][0]
    names = [one["name"] for one in worker["env"]]
    assert sorted(set(names)) == sorted(names)
    assert set(spec.secrets) <= set(names)
    limits = worker["resources"].get("limits", {})
    assert limits.items() <= worker["resources"].get("requests", {}).items()
