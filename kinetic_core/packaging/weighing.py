"""Weighing: what each argument and captured global adds to a payload, read off the position in its stream."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

from kinetic_core.model.package import PayloadComponent

T = TypeVar("T")


class Scale:
    """Hands items to a pickler one by one, and attributes what it writes meanwhile to the innermost of them.

    >>> written = bytearray()
    >>> scale = Scale(lambda: len(written))
    >>> for item in scale.weigh([("argument 0", b"abc"), ("argument 1", b"d")]):
    ...     written += item
    >>> [(part.name, part.size_bytes) for part in scale.components()]
    [('argument 0', 3), ('argument 1', 1)]
    """

    def __init__(self, position: Callable[[], int]) -> None:
        """Read positions, in bytes, from a function.

        A pickler writes by frames of 64 KiB: so exact are the weights.
        """
        self._position = position
        self._open: list[_Open] = []
        self._labels: list[str] = []
        self._weights: dict[str, int] = {}

    def weigh(self, items: Iterable[tuple[str, T]]) -> Iterator[T]:
        """Yield each of the named items; it weighs what is written until the next is asked for."""
        for name, item in items:
            self._open.append(_Open(name, self._position()))
            self._labels.append(name)
            yield item
            self._close()

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all items, in the order in which their writing began."""
        return tuple(self._labels)

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the items that are being written, the outermost first."""
        return tuple(item.name for item in self._open)

    def components(self) -> tuple[PayloadComponent, ...]:
        """Return what weighs anything, the heaviest first."""
        return heaviest_first(self._weights)

    def _close(self) -> None:
        item = self._open.pop()
        size = self._position() - item.start
        self._weights[item.name] = self._weights.get(item.name, 0) + size - item.inner
        if self._open:
            self._open[-1].inner += size


def heaviest_first(weights: Mapping[str, int]) -> tuple[PayloadComponent, ...]:
    """Return the components that weigh anything.

    >>> [part.name for part in heaviest_first({"argument 0": 1, "argument 1": 0, "argument 2": 9})]
    ['argument 2', 'argument 0']
    """
    by_weight = sorted(weights.items(), key=lambda pair: -pair[1])
    return tuple(PayloadComponent(name=name, size_bytes=size) for name, size in by_weight if size)


class Weighed(Sequence[PayloadComponent]):
    """Components that are weighed when somebody looks at them: it takes longer than to write a small payload.

    >>> parts = Weighed(lambda: (PayloadComponent(name="argument 0", size_bytes=3),))
    >>> len(parts), parts[0].name
    (1, 'argument 0')
    """

    def __init__(self, weigh: Callable[[], tuple[PayloadComponent, ...]]) -> None:
        """Keep what weighs them, once."""
        self._weigh = weigh
        self._components: tuple[PayloadComponent, ...] | None = None

    @overload
    def __getitem__(self, index: int) -> PayloadComponent: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PayloadComponent, ...]: ...
    def __getitem__(self, index: int | slice) -> PayloadComponent | tuple[PayloadComponent, ...]:
        """Return one of them, or some."""
        return self._all()[index]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._all())

    def __repr__(self) -> str:
        """Say no more than that nobody has asked, where nobody has."""
        return "Weighed(…)" if self._components is None else f"Weighed{self._components!r}"

    def _all(self) -> tuple[PayloadComponent, ...]:
        if self._components is None:
            self._components = self._weigh()
        return self._components


class _Open:
    def __init__(self, name: str, start: int) -> None:
        self.name = name
        self.start = start
        self.inner = 0
