"""The terminal at stderr, and whether something may be drawn on it."""

import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def is_present() -> bool:
    """Tell whether a person sees stderr; loads nothing."""
    return _is_terminal(sys.stderr)


def open_console() -> "Console | None":
    """Return the terminal to draw on.

    Returns:
        `None` where there is none, where it cannot move its cursor, without `rich`, and where a display is live
        already in this process, ours or the user's.
    """
    if not is_present():
        return None
    try:
        from rich.console import Console
        from rich.file_proxy import FileProxy
    except ImportError:
        return None
    console = Console(stderr=True)
    return console if console.is_interactive and not isinstance(sys.stderr, FileProxy) else None


def draws_stdout_too() -> bool:
    """Tell whether what is printed has to pass through the display, because it goes to the terminal as well.

    What goes to a file must not: a display would print it on stderr.
    """
    return _is_terminal(sys.stdout)


def _is_terminal(stream: TextIO | None) -> bool:
    """Tell whether it is one; a service may have no standard streams at all, or closed ones."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
