"""The argument walk: find what stays behind in a call's arguments, and put something else in its place."""

from kinetic_core.walk.find import Found, find
from kinetic_core.walk.replace import Replaced, replace

__all__ = ["Found", "Replaced", "find", "replace"]
