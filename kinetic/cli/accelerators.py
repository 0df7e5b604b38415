"""`kinetic accelerators`: what functions can run on."""

import attrs

from kinetic.cli.options import AsJson
from kinetic.cli.output import print_json, print_table


def accelerators(*, as_json: AsJson = False) -> None:
    """List each accelerator with its machine type and the number of its hosts."""
    from kinetic import settings
    from kinetic.host import load_host

    found = load_host(settings.surroundings().environ).accelerators()
    if as_json:
        print_json([attrs.asdict(one) for one in found])
        return
    rows = [
        [one.name, one.backend, one.kind, str(one.count), one.topology, str(one.hosts), one.machine_type]
        for one in found
    ]
    columns = ["name", "backend", "kind", "count", "topology", "hosts", "machine type"]
    print_table(columns, rows, empty="no plugin that is in use lists accelerators; see kinetic plugins")
