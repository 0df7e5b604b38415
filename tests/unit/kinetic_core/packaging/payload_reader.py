"""A program: makes the call of a payload with nothing but pickle and cloudpickle, written from the contract's table.

`payload_reader.py PAYLOAD [SYS_PATH_ENTRY...]` prints the result's repr. Every package of this project is out of
reach, and so is the project that the payload was made from, unless its directory is named.
"""

import importlib.abc
import pickle
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType


class Blocker(importlib.abc.MetaPathFinder):
    """Refuses this project's packages, as a pod with the Kinetic 0.0.x runner lacks them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0].startswith("kinetic"):
            raise ModuleNotFoundError(f"blocked: {fullname}", name=fullname)
        return None


def main() -> None:
    """Load and call."""
    sys.meta_path.insert(0, Blocker())
    sys.path[:0] = sys.argv[2:]
    with Path(sys.argv[1]).open("rb") as stream:
        payload = pickle.load(stream)
    assert set(payload) >= {"func", "args", "kwargs", "env_vars", "has_data_refs", "client_fingerprint", "working_dir"}
    assert set(payload) >= {"package_root", "entry_rel", "client_cwd_rel", "sys_path_rel"}
    assert type(payload) is dict
    assert type(payload["args"]) is tuple
    assert type(payload["kwargs"]) is dict
    print(repr(payload["func"](*payload["args"], **payload["kwargs"])))


if __name__ == "__main__":
    main()
