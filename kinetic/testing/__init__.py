"""The contract kit: what every plugin's author can ask of a driver of his own, as the built-in ones are asked.

Needs the extra `testing`. Subclass a contract in a test file, override the fixtures that it names, and let pytest
collect it. A test of a contract cannot be replaced; what a driver cannot do is listed in `expected_failures`.

>>> sorted(__all__)[0]
'BackendContract'
"""

import pytest

# Before they are imported: a failing assertion then shows its values.
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in ("backend", "plugins", "reference", "storage")))

from kinetic.testing.backend import BackendContract  # noqa: E402  after the line above
from kinetic.testing.jobs import make_job, result_of  # noqa: E402  the same
from kinetic.testing.log import Record, RecordingLog  # noqa: E402  the same
from kinetic.testing.place import Place, StorePlace  # noqa: E402  the same
from kinetic.testing.plugins import PluginContract  # noqa: E402  the same
from kinetic.testing.reference import ReferenceContract  # noqa: E402  the same
from kinetic.testing.storage import StorageContract  # noqa: E402  the same

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
