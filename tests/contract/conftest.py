"""Real servers for the tests of stores: each started when first asked for, once a session, behind a proxy."""

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import attrs
import pytest

from kinetic_core.plugin import Storage
from tests.contract.stores import CLOUDY, HERE, open_store
from tests.fakes.servers.proxy import Proxy, proxied
from tests.fakes.servers.stores import CLOUDS, MissingServerError

BUCKET: Final = "kinetic-tests"
# Nothing here may ask a cloud who it is.
NOBODY_IS_ASKED: Final = {
    "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
    "NO_GCE_CHECK": "true",
    "AWS_EC2_METADATA_DISABLED": "true",
}
for name, value in NOBODY_IS_ASKED.items():
    os.environ.setdefault(name, value)


@attrs.define
class Servers:
    """The clouds on this machine, by scheme."""

    folder: Path
    ends: ExitStack
    proxies: dict[str, Proxy] = attrs.field(factory=dict)

    def at(self, scheme: str) -> Proxy:
        """Return the proxy before the server, which has one bucket; start them when nobody did."""
        if scheme not in self.proxies:
            cloud = CLOUDS[scheme]
            pytest.importorskip(cloud.driver)
            try:
                address = self.ends.enter_context(cloud.server(self.folder / scheme))
            except MissingServerError as error:
                if os.environ.get("CI"):
                    raise
                pytest.skip(str(error))
            proxy = self.ends.enter_context(proxied(address))
            cloud.make_bucket(proxy.address, BUCKET)
            self.proxies[scheme] = proxy
        proxy = self.proxies[scheme]
        proxy.break_()
        return proxy


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with ExitStack() as ends:
        yield Servers(tmp_path_factory.mktemp("servers"), ends)


@attrs.frozen(kw_only=True)
class Place:
    """Where one test keeps its objects."""

    scheme: str
    url: str
    home: Path
    proxy: Proxy | None = None
    """Before the server, where there is one."""

    def open(self, url: str | None = None) -> Storage:
        """Open the store there, or another on the same server, afresh."""
        options = None if self.proxy is None else CLOUDS[self.scheme].options_here(self.proxy.address)
        return open_store(url or self.url, self.home, options)

    def job_url(self) -> str:
        """Return the URL of a store for jobs there: this one without a blank."""
        return self.url.replace(" ", "-")

    def environ(self) -> dict[str, str]:
        """Return what a client in a process of its own needs in its environment to run jobs there."""
        assert self.proxy is not None
        return {
            "KINETIC_STORAGE": self.job_url(),
            **NOBODY_IS_ASKED,
            **CLOUDS[self.scheme].configured(self.proxy.address),
        }


@pytest.fixture(params=HERE + CLOUDY)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    scheme: str = request.param
    if scheme == "file":
        return Place(scheme=scheme, url=f"file://{tmp_path}/store", home=tmp_path)
    if scheme == "memory":
        return Place(scheme=scheme, url=f"memory://{uuid.uuid4().hex}", home=tmp_path)
    return cloudy_place(scheme, request.getfixturevalue("servers"), tmp_path)


def cloudy_place(scheme: str, servers: Servers, home: Path) -> Place:
    proxy = servers.at(scheme)
    return Place(scheme=scheme, url=f"{scheme}://{BUCKET}/of-{uuid.uuid4().hex}/pre fix", home=home, proxy=proxy)
