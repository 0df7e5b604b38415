"""The version of this distribution, asked of what is installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("kinetic-run")
except PackageNotFoundError:  # a checkout on the path, not installed
    __version__ = "0+unknown"
