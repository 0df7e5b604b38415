"""A user's project on disk, run the way a user runs it: real processes that share nothing with the test's."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import attrs

_PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "COVERAGE_PROCESS_START")


@attrs.define
class Project:
    """A project, a home, a store and a temporary directory, each the test's own."""

    base: Path
    flags: tuple[str, ...] = ("-X", "dev", "-W", "ignore::ResourceWarning")
    """Of the interpreter."""

    @property
    def root(self) -> Path:
        return self.base / "project"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def store(self) -> Path:
        return self.home / ".kinetic" / "store"

    @property
    def temp(self) -> Path:
        return self.base / "temp"

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project, its text dedented."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def start(self, code: str, *, environ: dict[str, str] | None = None) -> "subprocess.Popen[str]":
        """Start Python code in the project's directory, as `python -c` with the project on the path."""
        for folder in (self.root, self.home, self.temp):
            folder.mkdir(parents=True, exist_ok=True)
        base = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return subprocess.Popen(
            [sys.executable, *self.flags, "-c", textwrap.dedent(code)],
            cwd=self.root,
            env={
                **base,
                "HOME": str(self.home),
                "TMPDIR": str(self.temp),
                "PYTHONDONTWRITEBYTECODE": "1",
                "KINETIC_BACKEND": "local",
                **(environ or {}),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, *, environ: dict[str, str] | None = None, fails: bool = False) -> "Ended":
        """Run Python code to its end."""
        process = self.start(code, environ=environ)
        out, err = process.communicate(timeout=240)
        assert (process.returncode != 0) == fails, f"exit {process.returncode}\n{out}\n{err}"
        return Ended(out=out, err=err, code=process.returncode)

    def stored(self) -> list[str]:
        """Return the files in the default store, relative to it, sorted."""
        return sorted(str(path.relative_to(self.store)) for path in self.store.rglob("*") if path.is_file())

    def stored_of_jobs(self) -> list[str]:
        """Return the same without the contexts that jobs share, which outlive them."""
        return [name for name in self.stored() if not name.startswith("cache/contexts/")]

    def tree(self) -> dict[str, tuple[int, bytes]]:
        """Return what the project's directory holds: mode and content by path."""
        return {
            str(path.relative_to(self.root)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
            for path in sorted(self.root.rglob("*"))
        }


@attrs.frozen(kw_only=True)
class Ended:
    """How a process ended."""

    out: str
    err: str
    code: int

    @property
    def said(self) -> Any:
        """The last line of stdout, as JSON."""
        return json.loads(self.out.splitlines()[-1])
