"""The contract kit: what every plugin's author can ask of a driver of his own, as the built-in ones are asked.

Needs the extra `testing`. Subclass a contract in a test file, override the fixtures that it names, and let pytest
collect it. A test of a contract cannot be replaced; what a driver cannot do is listed in `expected_failures`.

>>> sorted(__all__)[0]
'BackendContract'
"""

import importlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kinetic.testing.backend import BackendContract
    from kinetic.testing.jobs import make_job, result_of
    from kinetic.testing.log import Record, RecordingLog
    from kinetic.testing.place import Place, StorePlace
    from kinetic.testing.plugins import PluginContract
    from kinetic.testing.reference import ReferenceContract
    from kinetic.testing.storage import StorageContract

__all__ = [
    "BackendContract",
    "Place",
    "PluginContract",
    "Record",
    "RecordingLog",
    "ReferenceContract",
    "StorageContract",
    "StorePlace",
    "make_job",
    "result_of",
]

# The pytest plugin lies in this package, and pytest loads it before whatever measures coverage begins.
_HOMES = {
    "BackendContract": "backend",
    "Place": "place",
    "PluginContract": "plugins",
    "Record": "log",
    "RecordingLog": "log",
    "ReferenceContract": "reference",
    "StorageContract": "storage",
    "StorePlace": "place",
    "make_job": "jobs",
    "result_of": "jobs",
}

# Before they are imported: a failing assertion then shows its values.
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in ("backend", "plugins", "reference", "storage")))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
