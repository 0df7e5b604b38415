"""Checks of what plugin authors write into descriptors, so that a mistake is told where it was made."""

from typing import Any

import attrs


def texts(value: Any) -> Any:
    """Make a tuple of a list; a single text stays what it is, and is then refused.

    >>> texts(["gs", "s3"])
    ('gs', 's3')
    """
    return tuple(value) if isinstance(value, list | set | frozenset) else value


is_text = attrs.validators.and_(attrs.validators.instance_of(str), attrs.validators.min_len(1))
are_texts = attrs.validators.deep_iterable(is_text, attrs.validators.instance_of(tuple))
