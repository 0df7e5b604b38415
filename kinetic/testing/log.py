"""A logger that keeps what it is told."""

from typing import Any

import attrs


@attrs.frozen
class Record:
    """One event as it was logged."""

    level: str
    event: str
    details: dict[str, Any]


@attrs.define
class RecordingLog:
    """Fulfils `kinetic_core.plugin.Logger`."""

    records: list[Record] = attrs.field(factory=list)

    def debug(self, event: str, **details: Any) -> None:
        self.records.append(Record("debug", event, details))

    def info(self, event: str, **details: Any) -> None:
        self.records.append(Record("info", event, details))

    def warning(self, event: str, **details: Any) -> None:
        self.records.append(Record("warning", event, details))

    def events(self, level: str) -> list[str]:
        return [record.event for record in self.records if record.level == level]
