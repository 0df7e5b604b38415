"""`kinetic accelerators`: what can be asked for."""

import json

from kinetic_core.model.accelerator import parse_accelerator
from tests.system.cli.conftest import Cli


def test_every_accelerator_is_listed_with_its_machine_and_hosts(cli: Cli) -> None:
    ended = cli("accelerators")

    lines = [line.split() for line in ended.stdout.splitlines()]
    assert (ended.returncode, ended.stderr) == (0, "")
    assert lines[0] == ["NAME", "BACKEND", "KIND", "COUNT", "TOPOLOGY", "HOSTS", "MACHINE", "TYPE"]
    assert ["l4x2", "gke", "gpu", "2", "1", "g2-standard-24"] in lines
    assert ["v5litepod-16", "gke", "tpu", "16", "4x4", "4", "ct5lp-hightpu-4t"] in lines


def test_programs_get_the_same_rows(cli: Cli) -> None:
    listed = json.loads(cli("accelerators", "--json").stdout)

    assert len(listed) == len(cli("accelerators").stdout.splitlines()) - 1
    assert {"v5p-8", "h100x8", "t4"} <= {one["name"] for one in listed}
    assert [one["name"] for one in listed if parse_accelerator(one["name"]).count != one["count"]] == []
    assert {frozenset(one) for one in listed} == {
        frozenset(("backend", "kind", "name", "count", "topology", "machine_type", "hosts"))
    }


def test_without_a_plugin_that_lists_any_the_list_says_so(cli: Cli) -> None:
    ended = cli("accelerators", KINETIC_DISABLE_PLUGINS="gke")

    assert ended.stdout == "no plugin that is in use lists accelerators; see kinetic plugins\n"
