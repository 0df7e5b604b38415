"""Whether jobs can open the URLs of their `Data`: told before anything is uploaded, as far as it is known here."""

import difflib
import importlib.util
from collections.abc import Iterable, Iterator

import attrs

from kinetic.host import Host
from kinetic.host.catalog import ANY_SCHEME, require
from kinetic_core.errors import KineticError, PluginError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import BackendDriver, Reference

_OUR_IMAGES = frozenset((None, "bundled", "prebuilt"))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Reach:
    """Who opens the URLs, with what."""

    host: Host
    driver: BackendDriver | None
    """Of the backend, where one was chosen."""
    options: RunOptions

    def findings(self, references: Iterable[Reference], store_url: str | None) -> Iterator[Finding]:
        """Yield one finding for each scheme that nobody here can open.

        Args:
            references: Of a call; what a backend mounts needs no driver.
            store_url: Of the store, which was opened already.
        """
        is_remote = self.driver is not None and self.driver.remote
        uris = [one.uri for one in references if not (one.fuse and is_remote)]
        others = [uri for uri in uris if "://" in uri and not (store_url and uri.startswith(store_url))]
        for scheme in sorted({uri.partition("://")[0] for uri in others} - {"file"}):
            yield from self._of(scheme)

    def _of(self, scheme: str) -> Iterator[Finding]:
        if scheme == "hf":
            if importlib.util.find_spec("datasets") is None:
                yield self._lacking(scheme, "the package datasets is not installed; install it: pip install datasets")
            return
        try:
            found = self.host.storage_driver(f"{scheme}://data")
        except KineticError:
            # A broken plugin of this machine's is no matter of the pod's: that asks fsspec.
            yield from self._of_fsspec(scheme)
            return
        if found.process_local:
            yield self._finding(
                f"Data at {scheme}:// lives in this process only, so a job in another process cannot read it",
                "put it at a file:// or a cloud's URL, or pass the value itself",
                stops=True,
            )
        elif ANY_SCHEME in found.schemes:
            yield from self._of_fsspec(scheme)
        else:
            try:
                require(f"driver of {scheme}://", found)
            except PluginError as error:
                yield self._lacking(scheme, str(error))

    def _of_fsspec(self, scheme: str) -> Iterator[Finding]:
        from fsspec import available_protocols, get_filesystem_class

        try:
            get_filesystem_class(scheme)
        except ValueError:
            near = difflib.get_close_matches(scheme, available_protocols(), n=1)
            question = f"; did you mean {near[0]}://?" if near else ""
            yield self._finding(
                f"Data has a URL at {scheme}://, which neither a plugin nor fsspec knows{question}",
                "Correct it, or install the package that brings the driver, here and where the job runs.",
                # What is in an image that others made, nobody knows here.
                stops=self._shares_packages or self.options.container_image in _OUR_IMAGES,
            )
        except ImportError as error:
            yield self._lacking(scheme, f"its driver cannot be imported: {error}")

    def _lacking(self, scheme: str, why: str) -> Finding:
        stops = self._shares_packages
        remedy = "" if stops else "What counts is where the job runs: list the package in the dependency file."
        return self._finding(f"Data at {scheme}:// cannot be opened here: {why}", remedy, stops=stops)

    @property
    def _shares_packages(self) -> bool:
        """Tell whether jobs have the packages of this very interpreter."""
        options = self.options
        is_here = self.driver is not None and not self.driver.remote
        return is_here and options.isolation != "venv" and options.python is None

    @staticmethod
    def _finding(message: str, remedy: str, *, stops: bool) -> Finding:
        severity = Severity.ERROR if stops else Severity.WARNING
        return Finding(code="data_unreachable", severity=severity, message=message, remedy=remedy)
