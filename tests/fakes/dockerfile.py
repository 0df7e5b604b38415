"""Steps of a Dockerfile, done for real in folders: what a build would run, without an engine that builds."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

_PROGRAMS: Final = ("groupadd", "useradd")
"""What changes the machine: only noted."""


class StepError(Exception):
    """A step failed; its output is the message."""


@attrs.define
class Stage:
    """One stage: a folder that stands for its file system, and what has been set in it."""

    base: str
    root: Path
    env: dict[str, str]
    user: str = "root"
    folder: str = "/"

    def place(self, path: str) -> Path:
        """Return where a path of the image is here."""
        return self.root / path.lstrip("/")


@attrs.define
class Builder:
    """Builds as an engine does, step by step; a file system has the folders that are named, and the machine's programs.

    The Python of an image is this one.
    """

    context: Path
    work: Path
    paths: tuple[str, ...]
    """Folders of the image. Where one stands in a command, the stage's own is put."""
    environ: Mapping[str, str] = attrs.field(factory=dict)
    """For every command: what the network of a builder would give it, such as an index of packages."""
    stages: dict[str, Stage] = attrs.field(factory=dict)
    ran: list[str] = attrs.field(factory=list)

    def build(self, text: str) -> Stage:
        """Do every step; return the last stage.

        Raises:
            StepError: One failed.
            ValueError: There is an instruction that is not known here.
        """
        stages: list[Stage] = []
        for line in re.sub(r"\\\n", "", text).splitlines():
            instruction, _, rest = line.strip().partition(" ")
            if instruction == "FROM":
                stages.append(self._begun(rest))
            elif instruction:
                self._do(stages[-1], instruction, rest)
        return stages[-1]

    def _do(self, stage: Stage, instruction: str, rest: str) -> None:
        match instruction:
            case "RUN":
                self._run(stage, rest)
            case "COPY":
                self._copy(stage, *shlex.split(rest))
            case "ENV":
                stage.env |= self._values(stage, rest)
            case "USER":
                stage.user = rest
            case "WORKDIR":
                stage.folder = rest
            case other:
                raise ValueError(f"unknown instruction: {other} {rest}")

    def run(self, stage: Stage, *command: str) -> str:
        """Run a command as a container of the image would; return what it said.

        Raises:
            StepError: It failed.
        """
        path = os.pathsep.join(str(stage.place(part)) for part in stage.env["PATH"].split(os.pathsep))
        env = {**self.environ, **stage.env, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            command,
            cwd=stage.place(stage.folder),
            env=env,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode:
            raise StepError(done.stdout)
        return done.stdout

    def _begun(self, rest: str) -> Stage:
        base, _, name = rest.partition(" AS ")
        root = self.work / (name or f"stage-{len(self.stages)}")
        stage = Stage(base=base, root=root, env={"PATH": "/usr/local/bin"})
        for path in (*self.paths, "/tmp", "/usr/local/bin", "/home"):
            stage.place(path).mkdir(parents=True, exist_ok=True)
        stage.place("/usr/local/bin/python").symlink_to(Path(sys.executable).resolve())
        for program in _PROGRAMS:
            self._note(stage.place(f"/usr/local/bin/{program}"), stage)
        self.stages[name or str(len(self.stages))] = stage
        return stage

    def _note(self, program: Path, stage: Stage) -> None:
        home = stage.place("/home/kinetic")
        program.write_text(
            f'#!/bin/sh\nmkdir -p {shlex.quote(str(home))}\necho "$0 $@" >> {shlex.quote(str(home))}.noted\n'
        )
        program.chmod(0o755)

    def _run(self, stage: Stage, command: str) -> None:
        self.ran.append(command)
        # At once: where this stage lies may itself begin like a folder of the image.
        paths = "|".join(re.escape(path) for path in sorted((*self.paths, "/tmp"), key=len, reverse=True))
        placed = re.sub(rf"(?<![\w./-])({paths})(?=[/\s]|$)", lambda one: str(stage.place(one[1])), command)
        self.run(stage, "/bin/sh", "-ec", placed)

    def _copy(self, stage: Stage, source: str, target: str, *more: str) -> None:
        if source.startswith("--from="):
            shutil.copytree(
                self.stages[source.removeprefix("--from=")].place(target),
                stage.place(more[0]),
                symlinks=True,
                dirs_exist_ok=True,
            )
            return
        where = stage.place(target)
        if target.endswith("/"):
            where.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.context / source, where)

    def _values(self, stage: Stage, rest: str) -> dict[str, str]:
        found = (part.partition("=") for part in shlex.split(rest))
        return {name: re.sub(r"\$(\w+)", lambda one: stage.env.get(one[1], ""), value) for name, _, value in found}


def write_context(files: Mapping[str, str], folder: Path) -> str:
    """Write what a build is handed; return its Dockerfile."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return textwrap.dedent(files["Dockerfile"])
