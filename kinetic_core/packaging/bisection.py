"""Bisection: from a pickling error to the component and the object that cannot travel."""

from typing import Final

from kinetic_core.errors import SerializationError
from kinetic_core.packaging.call import Call

_ADVICE: Final = "open or build it inside the function, pass a path to what it holds, or use kinetic.Data for files"


def explain(error: Exception, call: Call, *, path: tuple[str, ...], culprit: object) -> SerializationError:
    """Return the error that tells the user what cannot travel and where it is."""
    return SerializationError(f"kinetic could not serialize {path[0]}: {error}; {_ADVICE}")
