"""Serializers: formats that carry a call and its result."""

import attrs


@attrs.frozen(kw_only=True)
class Serializer:
    """Names a format and the module that implements it on both sides.

    >>> Serializer(name="pickle", suffix=".pkl", module="kinetic_core.packaging.pickling").suffix
    '.pkl'
    """

    name: str
    suffix: str
    """Of `payload` and `result`, with the dot."""
    module: str
    """Import name of the client-side implementation."""
