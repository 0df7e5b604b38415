"""Opening backends and stores, once each, for whoever holds the connection."""

import functools
import os
import threading
from typing import Any

import attrs

from kinetic.host import Host, load_host
from kinetic.log import get_logger
from kinetic.settings import resolve, storage_options
from kinetic_core.errors import KineticError, PluginError
from kinetic_core.model.request import RunOptions, Surroundings
from kinetic_core.plugin import Backend, DriverContext, ReferenceHandler, ReferenceType, Storage

_PLUGIN_VARIABLES = ("KINETIC_DISABLE_PLUGINS", "KINETIC_PLUGIN_AUTOLOAD", "KINETIC_TRACE_PLUGINS")


@functools.lru_cache(maxsize=4)
def _host(variables: tuple[tuple[str, str], ...]) -> Host:
    return load_host(dict(variables))


def host_for(surroundings: Surroundings) -> Host:
    """Return the plugin host; plugins are loaded once a process and setting of the plugin variables."""
    environ = surroundings.environ
    return _host(tuple((name, environ[name]) for name in _PLUGIN_VARIABLES if name in environ))


@attrs.define(eq=False)
class Connection:
    """The client's way to its drivers, opened at first use; safe to share between threads.

    A fork of the process opens its own: of what it inherits, threads are gone and connections are the parent's.
    """

    host: Host
    surroundings: Surroundings
    _opened: dict[tuple[int, str, str], Any] = attrs.field(factory=dict, init=False, repr=False)
    _locks: dict[int, threading.RLock] = attrs.field(factory=dict, init=False, repr=False)

    def backend(self, name: str) -> Backend:
        """Return the backend of that name.

        Raises:
            PluginError: There is none, it is broken, or what it needs is not installed.
        """
        opened: Backend = self._open("backend", name, lambda: self._opened_backend(name))
        return opened

    def _opened_backend(self, name: str) -> Backend:
        context = attrs.evolve(self._context(name), options=resolve(RunOptions(), self.surroundings).options)
        return self.host.open_backend(name, context)

    def storage(self, url: str) -> Storage:
        """Return the store at that URL.

        Raises:
            ConfigError: The URL is none, or no driver knows its scheme.
            PluginError: The driver is broken, or what it needs is not installed.
        """
        opened: Storage = self._open("storage", url, lambda: self.host.open_storage(url, self._context("storage")))
        return opened

    def reference_handler(self, kind: ReferenceType) -> ReferenceHandler:
        """Return the handler of a reference type.

        Raises:
            PluginError: It cannot be opened.
        """
        opened: ReferenceHandler = self._open("reference", kind.name, lambda: self._opened_handler(kind))
        return opened

    def _opened_handler(self, kind: ReferenceType) -> ReferenceHandler:
        try:
            return kind.open(self._context(kind.name))
        except KineticError:
            raise
        except Exception as error:
            raise PluginError(
                f"the reference type {kind.name!r} of {kind.open.__module__} cannot be opened:"
                f" {type(error).__name__}: {error}"
            ) from error

    def _context(self, name: str) -> DriverContext:
        return DriverContext(
            log=get_logger(f"kinetic.driver.{name}"),
            environ=self.surroundings.environ,
            home=self.surroundings.home,
            storage_options=storage_options(self.surroundings),
        )

    def _open(self, kind: str, name: str, make: Any) -> Any:
        process = os.getpid()
        key = (process, kind, name)
        with self._locks.setdefault(process, threading.RLock()):
            # What the parent opened stays as it is: letting go of it could end what is the parent's, too.
            if key not in self._opened:
                self._opened[key] = make()
            return self._opened[key]


def connect(surroundings: Surroundings) -> Connection:
    """Return a connection over the process's plugins."""
    return Connection(host_for(surroundings), surroundings)
