"""The plugin host: finds plugins, checks them, and asks them on the client's behalf."""

from kinetic.host.facade import Host
from kinetic.host.loading import load_host
from kinetic.host.problem import Origin, Problem

__all__ = ["Host", "Origin", "Problem", "load_host"]
