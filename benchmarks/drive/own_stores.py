"""This project's way of putting files into an object store, and of getting them on the pod."""

import io
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.drive.step import Step

# Nothing here may ask a cloud who it is.
_NOBODY_IS_ASKED: Final = {"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false", "NO_GCE_CHECK": "true"}


def stage(config: Mapping[str, Any]) -> Step:
    """Stage `Data` that was hashed before and that the store does not have, as a submission does."""
    os.environ |= _NOBODY_IS_ASKED
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


def fetch(config: Mapping[str, Any]) -> Step:
    """Bring `Data` that lies in the store to the pod, as the runner does."""
    os.environ |= _NOBODY_IS_ASKED
    os.environ |= {
        f"FSSPEC_{scheme.upper()}": json.dumps(told) for scheme, told in json.loads(config["options"]).items()
    }
    from kinetic_core.wire.reference import Reference
    from kinetic_runner.log import Log
    from kinetic_runner.objects import RemoteData

    out, log = Path(config["out"]), Log(io.StringIO())
    reference = Reference(uri=config["url"], is_dir=config["url"].endswith("/"))

    def act() -> None:
        out.parent.mkdir(exist_ok=True)
        RemoteData.find(reference, log).download(out, log=log)

    def clear() -> None:
        if out.is_dir():
            shutil.rmtree(out)
        out.unlink(missing_ok=True)

    return Step(before=clear, act=act)


class _Silent:
    def debug(self, event: str, **details: Any) -> None: ...

    def info(self, event: str, **details: Any) -> None: ...

    def warning(self, event: str, **details: Any) -> None: ...
