"""Serializers: formats that carry a call and its result."""

import attrs

from kinetic_core.plugin.fields import is_text


@attrs.frozen(kw_only=True)
class Serializer:
    """Names a format and the module that implements it on both sides.

    >>> Serializer(name="pickle", suffix=".pkl", module="kinetic_core.packaging.pickling").suffix
    '.pkl'
    """

    name: str = attrs.field(validator=is_text)
    suffix: str = attrs.field(validator=attrs.validators.matches_re(r"\.\w+"))
    """Of `payload` and `result`, with the dot."""
    module: str = attrs.field(validator=is_text)
    """Import name of the client-side implementation."""
