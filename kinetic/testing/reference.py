"""What every type of reference promises."""

from pathlib import Path
from typing import Any

import pytest

from kinetic.testing.contract import Contract
from kinetic.testing.log import RecordingLog
from kinetic_core.plugin import DriverContext, ReferenceHandler, ReferenceType, Storage
from kinetic_core.wire.reference import as_reference


class ReferenceContract(Contract):
    """Override `reference_type`, `value`, `same` and `other`; `storage` where the content goes to another store.

    ```python
    class TestMine(ReferenceContract):
        @pytest.fixture
        def reference_type(self):
            return REFERENCE_TYPE

        @pytest.fixture
        def value(self, tmp_path):
            ...
    ```
    """

    @pytest.fixture
    def reference_type(self) -> ReferenceType:
        """Return the type under contract."""
        raise NotImplementedError("override the fixture `reference_type`")

    @pytest.fixture
    def value(self) -> Any:
        """Return an object of that type whose content is local."""
        raise NotImplementedError("override the fixture `value`: an object whose content is on this machine")

    @pytest.fixture
    def same(self) -> Any:
        """Return another object of the same content as `value`, lying elsewhere."""
        raise NotImplementedError("override the fixture `same`: another object of the same content as `value`")

    @pytest.fixture
    def other(self) -> Any:
        """Return an object of other content."""
        raise NotImplementedError("override the fixture `other`: an object of other content than `value`")

    @pytest.fixture
    def context(self, tmp_path: Path) -> DriverContext:
        """Return what the handler is opened with."""
        return DriverContext(log=RecordingLog(), environ={}, home=tmp_path)

    @pytest.fixture
    def handler(self, reference_type: ReferenceType, context: DriverContext) -> ReferenceHandler:
        """Return the opened handler."""
        return reference_type.open(context)

    @pytest.fixture
    def storage(self, tmp_path: Path, context: DriverContext) -> Storage:
        """Return an empty store."""
        from kinetic.host import load_host

        return load_host({}).open_storage((tmp_path / "store").as_uri(), context)

    def test_the_values_are_of_the_type(self, reference_type: ReferenceType, value: Any, same: Any, other: Any) -> None:
        assert all(isinstance(one, reference_type.python_type) for one in (value, same, other))

    def test_a_reference_survives_its_journey(self, handler: ReferenceHandler, value: Any, storage: Storage) -> None:
        told = handler.reference(value, store_url=storage.url).to_dict()
        found = as_reference(told | {"id": "r1"}, frozenset({"r1"}))
        assert found is not None
        assert found.uri == told["uri"]

    def test_equal_content_has_one_name_and_other_content_another(
        self, handler: ReferenceHandler, value: Any, same: Any, other: Any
    ) -> None:
        first, second, third = (handler.reference(one, store_url=None).uri for one in (value, same, other))
        assert first == second != third
        assert first.startswith("cache:")

    def test_asking_for_a_reference_uploads_nothing(
        self, handler: ReferenceHandler, value: Any, storage: Storage
    ) -> None:
        assert handler.reference(value, store_url=storage.url).uri.startswith(f"{storage.url}/")
        assert list(storage.list()) == []

    def test_content_is_staged_once(
        self, handler: ReferenceHandler, value: Any, same: Any, other: Any, storage: Storage
    ) -> None:
        assert handler.stage(value, storage)
        staged = {found.key: found.size_bytes for found in storage.list()}
        assert staged
        place = handler.reference(value, store_url=storage.url).uri.removeprefix(f"{storage.url}/").rstrip("/")
        assert [key for key in staged if key == place or key.startswith(f"{place}/")]
        assert not handler.stage(value, storage)
        assert not handler.stage(same, storage)
        assert {found.key: found.size_bytes for found in storage.list()} == staged
        assert handler.stage(other, storage)

    def test_what_a_failed_submission_staged_goes_again(
        self, handler: ReferenceHandler, value: Any, other: Any, storage: Storage
    ) -> None:
        handler.stage(other, storage)
        before = [found.key for found in storage.list()]
        handler.stage(value, storage)
        handler.unstage(value, storage)
        assert [found.key for found in storage.list()] == before

    def test_a_local_path_exists(self, handler: ReferenceHandler, value: Any) -> None:
        path = handler.local_path(value)
        assert path is None or path.exists()

    def test_findings_come_without_staging(self, handler: ReferenceHandler, value: Any, storage: Storage) -> None:
        assert [finding.severity for finding in handler.findings(value) if finding.severity == "error"] == []
        assert list(storage.list()) == []
