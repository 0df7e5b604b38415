"""Data from the cache, compared with the content hash that it lies under."""

import os
from collections.abc import Mapping
from pathlib import Path

from kinetic_core.wire.contenthash import content_hash
from kinetic_core.wire.digest import sha256_of_file
from kinetic_core.wire.reference import Reference


def check_content(reference: Reference, digests: Mapping[str, str]) -> None:
    """Compare what came with what was asked for, where that is known.

    Args:
        reference: Of the data.
        digests: SHA-256 of each file in hexadecimal, by its name below the directory; by its own where it is one.

    Raises:
        ValueError: It is something else.
    """
    if not reference.content_sha256:
        return
    rows: dict[str, bytes | None] = {name: bytes.fromhex(digest) for name, digest in digests.items()}
    # A directory without anything at all is told by itself.
    rows.update((name, None) for name in reference.empty_dirs if name != ".")
    found = content_hash(sorted(rows.items(), key=lambda row: os.fsencode(row[0])), is_dir=reference.is_dir)
    if found != reference.content_sha256:
        raise ValueError(
            f"{reference.uri} is damaged in the store: its content hash is {found}, and not {reference.content_sha256}."
            " Ask the client for this job's result, so that the next submission uploads it anew; then submit again"
        )


def digests_of(path: Path, name: str) -> dict[str, str]:
    """Return the SHA-256 of each file below a directory by its name, or of a file by the name given."""
    if path.is_file():
        return {name: sha256_of_file(path)}
    files = (Path(folder, file) for folder, _, found in os.walk(path) for file in found)
    return {str(file.relative_to(path)): sha256_of_file(file) for file in files}
