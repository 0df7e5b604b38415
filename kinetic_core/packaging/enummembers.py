"""Members of enums: what they carry beside name and value."""

import enum
from collections.abc import Iterator
from typing import Any, Final

_OF_EVERY_MEMBER: Final = frozenset(("_value_", "_name_", "__objclass__", "_sort_order_"))


def own_attributes(cls: type[enum.Enum]) -> Iterator[tuple[enum.Enum, dict[str, Any]]]:
    """Yield each member that has attributes of its own, as its constructor set them, with these.

    cloudpickle leaves them behind: it makes the members anew before the class has its constructor.

    >>> class Size(enum.Enum):
    ...     SMALL = 3
    ...     def __init__(self, width):
    ...         self.width = width
    >>> list(own_attributes(Size))
    [(<Size.SMALL: 3>, {'width': 3})]
    """
    for member in {id(member): member for member in cls.__members__.values()}.values():
        own = {name: value for name, value in vars(member).items() if name not in _OF_EVERY_MEMBER}
        if own:
            yield member, own
