"""This project's way of putting files into an object store."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


def stage(config: Mapping[str, Any]) -> Step:
    """Stage `Data` that was hashed before and that the store does not have, as a submission does."""
    # Nothing here may ask a cloud who it is.
    os.environ |= {"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false", "NO_GCE_CHECK": "true"}
    from kinetic.jobs.connection import connect
    from kinetic.references import DataHandler
    from kinetic_core.model.request import Surroundings
    from kinetic_core.plugin import DriverContext
    from kinetic_core.references.data import Data

    surroundings = Surroundings(
        environ={"KINETIC_STORAGE_OPTIONS": config["options"]}, home=Path.home(), cwd=Path.cwd(), sys_path=()
    )
    connection = connect(surroundings)
    store = connection.storage(config["url"])
    handler = DataHandler(DriverContext(log=_Silent(), environ={}, home=Path.home()))
    data = Data(config["data"])
    data.content_hash()

    return Step(before=lambda: store.delete_prefix("cache"), act=lambda: handler.stage(data, store))


class _Silent:
    def debug(self, event: str, **details: Any) -> None: ...

    def info(self, event: str, **details: Any) -> None: ...

    def warning(self, event: str, **details: Any) -> None: ...
