"""A project that is packaged at one place and run at another, where its directory does not exist."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs

from tests.fakes.project import Ended, Project


@attrs.define
class TravellingProject(Project):
    """A project whose jobs are packaged into `$OUT` and run by hand, after its directory was moved away."""

    @property
    def artifacts(self) -> Path:
        return self.base / "artifacts"

    @property
    def moved(self) -> Path:
        """Where the project's directory is once a job has run."""
        return self.base / "moved"

    def package(self, code: str, *, environ: dict[str, str] | None = None, script: str | None = None) -> Ended:
        """Run code that packages a call into `$OUT`; as the project's script of that name, where it has one."""
        out = {"OUT": str(self.artifacts), **(environ or {})}
        if script is None:
            return self.run(code, environ=out)
        path = self.write(script, code)
        return self.run(
            f"import os, sys; os.execv(sys.executable, [sys.executable, {str(path)!r}])",
            environ=out,
        )

    def run_by_hand(self, *, environ: dict[str, str] | None = None) -> Any:
        """Move the project away, run the packaged call, and return its value."""
        self.root.rename(self.moved)
        uris = {name: f"file://{self.artifacts}/{name}" for name in ("context.zip", "payload.pkl", "result.pkl")}
        command = [sys.executable, "-P", "-m", "kinetic_runner", "--context", uris["context.zip"], "--payload"]
        ran = subprocess.run(
            [*command, uris["payload.pkl"], "--result", uris["result.pkl"], "--no-working-dir-link"],
            cwd=self.base,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.temp), **(environ or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        record = pickle.loads((self.artifacts / "result.pkl").read_bytes())
        assert record["success"] is True
        return record["result"]
