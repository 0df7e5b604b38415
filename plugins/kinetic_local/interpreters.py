"""Interpreters: the one that runs a job, found by version or by path."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_local.environment import passing

OLDEST: Final = (3, 11)
"""The runner's own."""
_PATIENCE_S: Final = 30
_VERSION: Final = re.compile(r"(?:c?python)?(3(?:\.[0-9]+){1,2})")
_PROBE: Final = (
    "import json, platform, sys, sysconfig; print(json.dumps({'path': sys.executable,"
    " 'version': platform.python_version(), 'tag': sys.implementation.cache_tag or sys.implementation.name,"
    " 'platform': sysconfig.get_platform(), 'base': sys.base_prefix}))"
)


@attrs.frozen(kw_only=True)
class Interpreter:
    """A Python, and what of it decides which packages fit."""

    path: str
    version: str
    """With its patch level."""
    tag: str
    """Of its bytecode: `cpython-312`."""
    platform: str
    base: str
    """Where it is installed."""

    @property
    def is_own(self) -> bool:
        """Tell whether it is the client's own, with the client's own packages."""
        return self.path == sys.executable


def own_interpreter() -> Interpreter:
    """Return the client's own.

    >>> own_interpreter().is_own
    True
    """
    return Interpreter(
        path=sys.executable,
        version=".".join(map(str, sys.version_info[:3])),
        tag=sys.implementation.cache_tag or sys.implementation.name,
        platform=sysconfig.get_platform(),
        base=sys.base_prefix,
    )


def find_interpreter(wanted: str | None, environ: Mapping[str, str], home: Path) -> Interpreter:
    """Return the interpreter that `python=` asks for.

    A version is looked for in this process, on `PATH`, among pyenv's and uv's; nothing is downloaded.

    Args:
        wanted: A version, a path, or `None` for the client's own.
        environ: The client's.
        home: The user's.

    Raises:
        ConfigError: It is neither, there is none, it does not start, or it is too old for the runner.
    """
    if wanted is None:
        return own_interpreter()
    if os.sep in wanted:
        return _new_enough(_at(wanted, environ, home))
    found = _VERSION.fullmatch(wanted)
    if found is None:
        raise ConfigError(
            f"python={wanted!r} is neither a version of Python 3, such as '3.12', nor the path of an interpreter"
        )
    version = found[1]
    for path in _candidates(version, environ, home):
        interpreter = _probed(path, environ)
        if interpreter is not None and _is(version, interpreter.version):
            return _new_enough(interpreter)
    raise ConfigError(
        f"python={wanted!r}: there is no such Python on PATH, in pyenv or in uv; found"
        f" {', '.join(_known(environ, home))}. Install it, for example with `uv python install {version}`, or give"
        " the path of an interpreter"
    )


def find_uv(environ: Mapping[str, str]) -> str | None:
    """Return the path of uv, if it is on the client's `PATH` or beside its interpreter."""
    beside = str(Path(sys.executable).parent)
    return shutil.which("uv", path=os.pathsep.join([environ.get("PATH", ""), beside]))


def _at(wanted: str, environ: Mapping[str, str], home: Path) -> Interpreter:
    path = f"{home}/{wanted[2:]}" if wanted.startswith("~/") else str(Path(wanted).absolute())
    interpreter = _probed(path, environ)
    if interpreter is None:
        raise ConfigError(f"python={wanted!r} does not start as a Python; give the path of an interpreter")
    return interpreter


def _new_enough(interpreter: Interpreter) -> Interpreter:
    if tuple(map(int, interpreter.version.split(".")[:2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(f"{interpreter.path} is Python {interpreter.version}; a job needs Python {oldest} or newer")
    return interpreter


def _is(wanted: str, version: str) -> bool:
    return version == wanted or version.startswith(f"{wanted}.")


def _candidates(version: str, environ: Mapping[str, str], home: Path) -> Iterator[str]:
    if _is(version, own_interpreter().version):
        yield sys.executable
    name = "python" + ".".join(version.split(".")[:2])
    for folder in environ.get("PATH", "").split(os.pathsep):
        if folder and os.access(f"{folder}/{name}", os.X_OK):
            yield f"{folder}/{name}"
    for installed in _of_pyenv(environ, home):
        if _is(version, installed.name):
            yield f"{installed}/bin/python"
    uv = find_uv(environ)
    if uv is not None:
        yield from _of_uv(uv, version, environ)


def _of_pyenv(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the folders of pyenv's versions, the newest first; its shims start only the active one."""
    versions = Path(environ.get("PYENV_ROOT") or home / ".pyenv") / "versions"
    found = [folder for folder in versions.glob("3.*") if folder.name.replace(".", "").isdigit()]
    return sorted(found, key=lambda folder: [int(part) for part in folder.name.split(".")], reverse=True)


def _of_uv(uv: str, version: str, environ: Mapping[str, str]) -> Iterator[str]:
    command = [uv, "python", "find", "--no-project", "--no-python-downloads", version]
    with suppress(OSError, subprocess.TimeoutExpired):
        asked = subprocess.run(
            command, env=passing(environ), capture_output=True, check=False, text=True, cwd="/", timeout=_PATIENCE_S
        )
        if asked.returncode == 0:
            yield asked.stdout.strip()


def _known(environ: Mapping[str, str], home: Path) -> list[str]:
    folders = [Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder]
    on_path = [path.name.removeprefix("python") for folder in folders for path in folder.glob("python3.*")]
    installed = [folder.name for folder in _of_pyenv(environ, home)]
    known = {own_interpreter().version, *installed, *(name for name in on_path if _VERSION.fullmatch(name))}
    return sorted(known, key=lambda version: [int(part) for part in version.split(".")])


def _probed(path: str, environ: Mapping[str, str]) -> Interpreter | None:
    """Ask an interpreter what it is; `None` when it does not answer."""
    if path == sys.executable:
        return own_interpreter()
    try:
        changed_ns = Path(path).stat().st_mtime_ns
    except OSError:
        return None
    return _asked(path, changed_ns, tuple(sorted(passing(environ).items())))


@functools.lru_cache(maxsize=32)
def _asked(path: str, _changed_ns: int, environ: tuple[tuple[str, str], ...]) -> Interpreter | None:
    try:
        asked = subprocess.run(
            [path, "-I", "-c", _PROBE], env=dict(environ), capture_output=True, check=True, timeout=_PATIENCE_S
        )
        said = json.loads(asked.stdout)
        return Interpreter(**said)
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return None
