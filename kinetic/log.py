"""Logging: structlog over the standard library's loggers. Nothing is configured unless asked for.

Events are snake_case facts with details as keywords. Two details are prose for a person: `message`, what
happened, and `remedy`, what to do about it. Where no handler is set up, a warning still reaches stderr,
as one line that a person can read; where the application has handlers, records go to them as they are.
structlog is loaded at the first event that someone is to see.
"""

import difflib
import functools
import logging
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal

from kinetic_core.errors import ConfigError

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

    from kinetic_core.findings import Finding
    from kinetic_core.plugin.context import Logger

ROOT: Final = "kinetic"
"""Every logger of the client and of its drivers lies below this one."""

LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_Method = Literal["debug", "info", "warning"]
_NUMBERS: Final[dict[_Method, int]] = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


def get_logger(name: str = ROOT) -> "Logger":
    """Return the logger of that name; making one loads and configures nothing.

    Args:
        name: Dotted, `kinetic` or below it; anything else is put below it.

    >>> get_logger("kinetic.submission").debug("archive_written", size_bytes=12)
    """
    return _LazyLogger(name if name == ROOT or name.startswith(f"{ROOT}.") else f"{ROOT}.{name}")


def enable_logging(level: str | int = "INFO") -> None:
    """Show this library's log on stderr, at that level and above.

    Where the application has set up handlers of its own, they show it, and none is added. Calling it again
    changes the level. It wins over `KINETIC_LOG_LEVEL`.

    Args:
        level: A name such as `"DEBUG"`, in any case, or a number of the `logging` module.

    Raises:
        ConfigError: No such level.

    >>> enable_logging("LOUD")
    Traceback (most recent call last):
        ...
    kinetic_core.errors.ConfigError: unknown log level 'LOUD'. Known: DEBUG, INFO, WARNING, ERROR, CRITICAL
    """
    _install(_level_number(level), asked="call")


def apply_environment(level: str | None) -> None:
    """Do what `KINETIC_LOG_LEVEL` asks for, unless `enable_logging` was called; `None` and empty ask for nothing.

    A level that does not exist is ignored with a warning: logging must not stop a job.
    """
    if not level:
        return
    try:
        number = _level_number(level)
    except ConfigError as error:
        get_logger().warning("log_level_ignored", message=f"KINETIC_LOG_LEVEL is ignored: {error}")
        return
    _install(number, asked="environment")


def wants_warnings_only() -> bool:
    """Tell whether a level was chosen, for this library, at which no stage is told of."""
    return logging.getLogger(ROOT).level > logging.INFO


def tell(name: str, event: str, **details: Any) -> None:
    """Record a stage that a person wants to see unasked: where nobody has set up logging, it is a line on stderr.

    Args:
        name: The logger's.
        event: As for a logger.
        details: The same.
    """
    logger = logging.getLogger(name)
    if logger.hasHandlers() or logging.getLogger(ROOT).level:
        get_logger(name).info(event, **details)
        return
    # A service may have no stderr, or one that nobody reads any more.
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(_for_a_person({"event": event, **details}) + "\n")


def report(findings: "Iterable[Finding]", logger: "Logger") -> None:
    """Log each finding once: information as info, warnings as warnings.

    A finding of severity error is logged as a warning too; what stops the submission is the exception that
    carries it.
    """
    for finding in dict.fromkeys(findings):
        log = logger.info if finding.severity == "info" else logger.warning
        log(finding.code, message=finding.message, remedy=finding.remedy, severity=str(finding.severity))


def sentence(message: str, remedy: str) -> str:
    """Join what happened and what to do about it.

    >>> sentence("212 MB is much", "exclude some"), sentence("212 MB is much", "Exclude some."), sentence("Much.", "")
    ('212 MB is much; exclude some', '212 MB is much. Exclude some.', 'Much.')
    """
    if not remedy:
        return message
    link = " " if message.endswith((".", "!", "?")) else ". " if remedy[0].isupper() else "; "
    return f"{message}{link}{remedy}"


class _LazyLogger:
    """Asks the standard library whether anybody listens before structlog is imported."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"get_logger({self._name!r})"

    def debug(self, event: str, **details: Any) -> None:
        """Record a detail for the curious."""
        self._log("debug", event, details)

    def info(self, event: str, **details: Any) -> None:
        """Record a stage."""
        self._log("info", event, details)

    def warning(self, event: str, **details: Any) -> None:
        """Record something that the user should act on."""
        self._log("warning", event, details)

    def _log(self, method: _Method, event: str, details: dict[str, Any]) -> None:
        if logging.getLogger(self._name).isEnabledFor(_NUMBERS[method]):
            getattr(_bound(self._name, _processors_of_the_application()), method)(event, **details)


def _processors_of_the_application() -> "tuple[Processor, ...] | None":
    """Return the application's own chain where it has configured structlog over the standard library."""
    if "structlog" not in sys.modules:
        return None
    # Not what lies in sys.modules: another thread may be half-way through importing it, and this waits for it.
    import structlog

    if not structlog.is_configured():
        return None
    configured = structlog.get_config()
    if not isinstance(configured["logger_factory"], structlog.stdlib.LoggerFactory):
        return None
    return tuple(configured["processors"])


@functools.lru_cache(maxsize=256)
def _bound(name: str, application: "tuple[Processor, ...] | None") -> Any:
    import structlog

    ours = (structlog.contextvars.merge_contextvars, _to_standard_library)
    return structlog.wrap_logger(
        logging.getLogger(name),
        processors=ours if application is None else (_without_reserved_names, *application),
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
    )


def _without_reserved_names(_: "WrappedLogger", __: str, event: "EventDict") -> "EventDict":
    """Rename details that a `logging.LogRecord` has as attributes: `extra` may not hold them."""
    reserved = logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime"}
    return {f"{key}_" if key in reserved and key != "exc_info" else key: value for key, value in event.items()}


def _to_standard_library(logger: "WrappedLogger", _: str, event: "EventDict") -> tuple[tuple[str], dict[str, Any]]:
    details = dict(event)
    exc_info = details.pop("exc_info", None)
    text = _for_handlers(details) if logger.hasHandlers() else _for_a_person(details)
    return (text,), {"exc_info": exc_info, "extra": {"kinetic": details}}


def _for_handlers(details: Mapping[str, Any]) -> str:
    said = f"{details['event']}: {details['message']}" if details.get("message") else str(details["event"])
    rest = [f"{key}={value!r}" for key, value in details.items() if key not in ("event", "message") and value != ""]
    return _one_line(" ".join([said, *rest]))


def _for_a_person(details: Mapping[str, Any]) -> str:
    said = str(details.get("message") or "")
    if not said:
        rest = [f"{key}={value!r}" for key, value in details.items() if key not in ("event", "message", "remedy")]
        said = str(details["event"]).replace("_", " ") + (f" ({', '.join(rest)})" if rest else "")
    return _one_line(f"kinetic: {sentence(said, str(details.get('remedy') or ''))}")


def _one_line(text: str) -> str:
    """Escape what is not printable, such as line ends and the odd bytes of a file's name."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


class _StderrHandler(logging.Handler):
    """Writes to whatever `sys.stderr` is at the time, unless the application has handlers that do."""

    def __init__(self, asked: Literal["call", "environment"]) -> None:
        super().__init__()
        self.asked = asked
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        if logging.getLogger().handlers:
            return
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:  # noqa: BLE001 - the standard library's rule: a failing handler harms no caller
            self.handleError(record)


def _install(number: int, *, asked: Literal["call", "environment"]) -> None:
    logger = logging.getLogger(ROOT)
    ours = next((handler for handler in logger.handlers if isinstance(handler, _StderrHandler)), None)
    if ours is None:
        logger.addHandler(_StderrHandler(asked))
    elif asked == "environment" and ours.asked == "call":
        return
    else:
        ours.asked = asked
    logger.setLevel(number)


def _level_number(level: str | int) -> int:
    if isinstance(level, int) and not isinstance(level, bool):
        return level
    name = str(level).strip().upper()
    if name in LEVELS:
        return int(logging.getLevelNamesMapping()[name])
    near = difflib.get_close_matches(name, LEVELS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"unknown log level {level!r}.{hint} Known: {', '.join(LEVELS)}")
