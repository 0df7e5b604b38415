"""Metaflow's code package, as `metaflow.package.MetaflowPackage` makes and names it."""

import hashlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


def cold(config: Mapping[str, Any]) -> Step:
    """Put the flow's directory into a tarball in memory, name it by its hash, write it."""
    backend = import_module("metaflow.packaging_sys.tar_backend").TarPackagingBackend
    walk = import_module("metaflow.packaging_sys.utils").walk
    out = Path(config["out"])

    def act() -> None:
        package = backend()
        with package.create() as archive:
            for path, name in walk(f"{config['tree']}/", file_filter=None, exclude_tl_dirs=config["excluded"]):
                archive.add_file(path, arcname=name)
        blob = package.get_blob()
        hashlib.sha1(blob).hexdigest()  # noqa: S324 - as its content-addressed store does
        out.write_bytes(blob)

    return Step(before=lambda: out.unlink(missing_ok=True), act=act, facts=lambda: {"bytes": out.stat().st_size})
