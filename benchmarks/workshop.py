"""Where measuring takes place: a folder with trees, environments of peers and room for what is written."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks import peers, trees
from benchmarks.contestants import OURS, Contestant, ContestantError, Round, Worker
from benchmarks.records import Measured, Row
from benchmarks.sampling import interleaved


@attrs.frozen(kw_only=True)
class Absent:
    """A contestant that cannot take part: its row gives the reason."""

    name: str
    reason: str

    def round(self) -> Round:
        """Refuse.

        Raises:
            ContestantError: Always.
        """
        raise ContestantError(self.reason)

    def close(self) -> None:
        """Nothing is open."""


@attrs.frozen(kw_only=True)
class Workshop:
    """The folder, and how thoroughly to measure in it."""

    folder: Path
    rounds: int = 5
    patience: int = 3
    with_peers: bool = True
    largest: int = 100_000
    """Files of the largest tree of the growth."""
    object_bytes: int = 256 << 20
    """Of the large object that is staged."""

    def tree(self, name: str) -> Path:
        """Return a tree, made when it is not there."""
        return trees.tree(self.folder / "trees", name)

    def room(self, *parts: str) -> Path:
        """Return a path to write to; its directory exists."""
        path = self.folder.joinpath("out", *parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def ours(self, module: str, step: str, *, name: str = OURS, **config: Any) -> Worker:
        """Return a contestant that runs a step of `benchmarks.drive.own_…` or `floor` in this interpreter."""
        return Worker(name=name, module=module, step=step, config=_plain(config), environ=self.environ())

    def peer(self, distribution: str, module: str, step: str, *, name: str = "", **config: Any) -> Contestant:
        """Return a contestant that runs a step in the environment of a peer, or one that gives a reason."""
        name = name or peers.PEERS[distribution]
        if not self.with_peers:
            return Absent(name=name, reason="peers were left out")
        try:
            python = peers.interpreter(self.folder / "peers", distribution)
        except ContestantError as error:
            return Absent(name=name, reason=str(error))
        return Worker(
            name=name, module=module, step=step, config=_plain(config), python=python, environ=self.environ(python)
        )

    def python_of(self, distribution: str) -> Path:
        """Return the interpreter of a peer.

        Raises:
            ContestantError: It is not to be had.
        """
        if not self.with_peers:
            raise ContestantError("peers were left out")
        return peers.interpreter(self.folder / "peers", distribution)

    def environ(self, python: Path | None = None) -> dict[str, str]:
        """Return an environment with a home of its own, nobody's settings, and compiled bytecode allowed."""
        home = self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        bin_folder = str((python or Path(sys.executable)).parent)
        path = os.pathsep.join([bin_folder, os.environ.get("PATH", os.defpath)])
        # A peer must not find our packages: one is called `kinetic` too.
        ours = () if python else ("PYTHONPATH",)
        kept = {key: os.environ[key] for key in ("LANG", "TMPDIR", "LD_LIBRARY_PATH", *ours) if key in os.environ}
        return {**kept, "HOME": str(home), "PATH": path}

    def measure(
        self,
        key: str,
        title: str,
        contestants: Sequence[Contestant],
        *,
        rounds: int | None = None,
        rehearsed: bool = False,
    ) -> Measured:
        """Let the contestants do their rounds in turn, each perhaps with a rehearsal."""
        samples = interleaved(contestants, rounds=rounds or self.rounds, patience=self.patience, rehearsed=rehearsed)
        rows = tuple(Row.of(name, sample) for name, sample in samples.items())
        return Measured(key=key, title=title, rows=rows)


def _plain(config: dict[str, Any]) -> dict[str, Any]:
    return {key: str(value) if isinstance(value, Path) else value for key, value in config.items()}
