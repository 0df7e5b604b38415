"""The page of `kinetic explain --html`: one file that loads nothing from anywhere."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

from kinetic.cli.explanation import Explanation
from kinetic.cli.output import human_size
from kinetic.cli.report import report_lines
from kinetic.cli.tree import build_tree, files_text
from kinetic.cli.treemap import Box, treemap
from kinetic_core.errors import UsageError
from kinetic_core.packaging.printable import printable

_WIDTH: Final = 1200
_HEIGHT: Final = 700
_CHAR_WIDTH: Final = 6.6
_LABEL_HEIGHT: Final = 13
_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1200px; padding: 0 1rem; }
svg { width: 100%; height: auto; }
rect { stroke: light-dark(#fff, #111); fill: light-dark(#dbe7f5, #24364d); }
rect.file { fill: light-dark(#9ec1e8, #3d6594); }
rect:hover { stroke: currentColor; }
text { font: 11px ui-monospace, monospace; fill: currentColor; pointer-events: none; }
pre { overflow-x: auto; }
"""


def write_page(explanation: Explanation, path: Path) -> None:
    """Write the page: the archive as a treemap, and below it all that the command prints.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        path.write_text("\n".join(_lines(explanation)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html: {path} cannot be written: {error.strerror or error}") from error


def _lines(explanation: Explanation) -> Iterator[str]:
    root = build_tree(explanation.package.manifest.entries)
    title = escape(printable(explanation.function))
    drawn = "\n".join(line for box in treemap(root, _WIDTH, _HEIGHT) for line in _drawn(box))
    yield f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n<title>{title}</title>'
    yield f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    yield f"<p>{human_size(root.size_bytes)} in {files_text(root.files)} before compression, each box by its size.</p>"
    yield f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="What would ship, by size">\n{drawn}\n</svg>'
    text = "\n".join(line.rstrip() for line in report_lines(explanation, fold=True))
    yield f"<pre>{escape(text)}</pre>\n</body>\n</html>\n"


def _drawn(box: Box) -> Iterator[str]:
    path, is_dir = printable(box.path), box.path.endswith("/")
    told = f"{path}  {human_size(box.size_bytes)}" + (f", {files_text(box.files)}" if is_dir else "")
    place = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    yield f'<rect class="{"dir" if is_dir else "file"}" {place}><title>{escape(told)}</title></rect>'
    room = int((box.width - 6) / _CHAR_WIDTH)
    name = path.rstrip("/").rpartition("/")[2] + ("/" if is_dir else "")
    if box.height > _LABEL_HEIGHT and len(name) <= room:
        yield f'<text x="{box.x + 3:.1f}" y="{box.y + 11:.1f}">{escape(name)}</text>'
