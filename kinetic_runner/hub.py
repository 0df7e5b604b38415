"""Data sets of Hugging Face: loaded with their own library, and saved where the function finds them."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from kinetic_core.wire.reference import Reference

SCHEME: Final = "hf://"


def parse(uri: str) -> tuple[str, Mapping[str, str]]:
    """Return name and parameters of `hf://name?split=…&config_name=…&revision=…`; empty ones are left out.

    >>> parse("hf://ag_news?split=train&revision=")
    ('ag_news', {'split': 'train'})
    """
    name, _, query = uri.removeprefix(SCHEME).partition("?")
    return name.strip("/"), dict(parse_qsl(query))


def save_data_set(reference: Reference, target: Path) -> Path:
    """Load a data set and save it; `datasets.load_from_disk` opens what is there afterwards.

    Args:
        reference: Of an `hf://` URL.
        target: The directory to save it in.

    Raises:
        ImportError: The image lacks `datasets`.
        Exception: What that library raises.
    """
    try:
        datasets = importlib.import_module("datasets")
    except ImportError as error:
        raise ImportError(f"{reference.uri} needs the package datasets, which this image lacks ({error})") from error
    name, told = parse(reference.uri)
    # Version 4 of the library runs no loading code any more, and knows no such word.
    trust = {"trust_remote_code": True} if reference.hf_trust_remote_code else {}
    loaded = datasets.load_dataset(
        name, told.get("config_name"), split=told.get("split"), revision=told.get("revision"), **trust
    )
    loaded.save_to_disk(str(target))
    return target
