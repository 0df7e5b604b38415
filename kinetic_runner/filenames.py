"""File names of shipped code: the workspace's while it runs here, the client's on the way home."""

import os
from pathlib import Path
from types import CodeType
from typing import Any, Final

_DYNAMIC: Final = "<dynamic-code>"


class FileNames:
    """Translates between the client's package root and the workspace.

    >>> names = FileNames(package_root="/home/ann/proj", workspace=Path("/w"))
    >>> names.to_client("/w/pkg/a.py")
    '/home/ann/proj/pkg/a.py'
    """

    def __init__(self, *, package_root: str, workspace: Path) -> None:
        """Take both roots; an empty package root translates nothing."""
        root = package_root.rstrip("/\\")
        # A root of Windows or of `/` itself has no names that mean anything here.
        self._client = f"{root}/" if root.startswith("/") else None
        self._pod = f"{os.fspath(workspace)}/"
        self.modules: dict[str, str] = {}
        """Files here of the modules whose code came by value, by their names."""
        self._known: dict[str, str] = {}
        self._codes: dict[int, tuple[CodeType, CodeType]] = {}

    def to_pod(self, name: str) -> str:
        """Return the workspace's name of a client's file, if that file was shipped; else the same name."""
        if self._client is None or not name.startswith(self._client):
            return name
        found = self._known.get(name)
        if found is None:
            path = self._pod + name[len(self._client) :]
            found = self._known[name] = path if os.path.exists(path) else name
        return found

    def to_client(self, name: str) -> str:
        """Return the client's name of a file of the workspace; any other name as it is."""
        if self._client is None or not name.startswith(self._pod):
            return name
        return self._client + name[len(self._pod) :]

    def text_to_client(self, text: str) -> str:
        """Return a text, such as a traceback, with the client's names of the workspace's files."""
        return text if self._client is None else text.replace(self._pod, self._client)

    def code_to_pod(self, code: CodeType, file: Any) -> CodeType:
        """Return code that names the workspace's file, and so the code within it.

        Args:
            code: As it arrived.
            file: `__file__` of its module, for code whose own name was lost on the way.
        """
        known = self._codes.get(id(code))
        if known is not None:
            return known[1]
        name = file if code.co_filename == _DYNAMIC and isinstance(file, str) else code.co_filename
        moved = _renamed(code, code.co_filename, self.to_pod(name))
        # The original is kept alive, so that its identity stays its own.
        self._codes[id(code)] = (code, moved)
        return moved


def _renamed(code: CodeType, old: str, new: str) -> CodeType:
    if old == new:
        return code
    consts = tuple(
        _renamed(const, old, new) if isinstance(const, CodeType) and const.co_filename == old else const
        for const in code.co_consts
    )
    return code.replace(co_filename=new, co_consts=consts)
