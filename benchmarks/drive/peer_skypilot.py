"""SkyPilot's upload of a working directory to its server, as `sky.client.common` zips and names it."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


def cold(config: Mapping[str, Any]) -> Step:
    """Zip a tree, and hash the archive; an ignore file names what others leave out."""
    zip_folders = import_module("sky.data.storage_utils").zip_files_and_folders
    name_blob = getattr(import_module("sky.client.common"), "_compute_zip_blob_id", None)
    tree, out = Path(config["tree"]), Path(config["out"])
    ignore = tree / ".skyignore"

    def before() -> None:
        out.unlink(missing_ok=True)
        ignore.write_text("".join(f"/{name}\n" for name in config["excluded"]), encoding="utf-8")

    def act() -> None:
        zip_folders([str(tree)], str(out))
        if name_blob is not None:
            name_blob(str(out))

    def facts() -> Mapping[str, float]:
        # Nobody else's archive shall hold it.
        ignore.unlink()
        return {"bytes": out.stat().st_size}

    return Step(before=before, act=act, facts=facts)
