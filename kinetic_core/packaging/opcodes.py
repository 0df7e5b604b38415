"""Weights of a small payload, to the byte: read off its opcodes, where a pickler's frames are too coarse."""

import pickletools
from collections.abc import Iterator, Sequence
from typing import Any, Final

_MOST_OPCODES: Final = 10_000  # some 20 ms
_DICT: Final = ("builtins", "dict")
_LIST: Final = ("builtins", "list")
_STRINGS: Final = frozenset(("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"))
_GETS: Final = frozenset(("BINGET", "LONG_BINGET"))
_NO_EFFECT: Final = frozenset(("PROTO", "FRAME", "STOP"))


def exact_weights(content: bytes, labels: Sequence[str], outermost: str) -> dict[str, int] | None:
    """Return what each labelled item weighs, or `None` where the opcodes do not tell.

    A container whose items are weighed is written as `dict()` or `list()` and its items; the first of them is none
    of its own. In the outermost one only a single item is weighed.

    Args:
        content: The pickle.
        labels: Of the items, in the order in which their writing began.
        outermost: The key of that single item.
    """
    spans = sorted(_Reader(outermost).spans(content))
    if len(spans) != len(labels):
        return None
    weights: dict[str, int] = {}
    around: list[tuple[str, int]] = []
    for label, (start, end) in zip(labels, spans, strict=True):
        while around and around[-1][1] <= start:
            around.pop()
        if around:
            weights[around[-1][0]] -= end - start
        weights[label] = weights.get(label, 0) + end - start
        around.append((label, end))
    return weights


class _Weighed:
    """A container under construction, whose items are weighed."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.base = 0
        self.starts: dict[int, int] = {}
        self.key_at: int | None = None


class _Reader:
    """Follows a pickle's stack just closely enough to see where the weighed items begin and end."""

    def __init__(self, outermost: str) -> None:
        self._outermost = outermost
        self._stack: list[Any] = []
        self._memo: list[Any] = []
        self._marks: list[tuple[int, _Weighed | None]] = []
        self._count = 0

    def spans(self, content: bytes) -> Iterator[tuple[int, int]]:
        """Yield begin and end of each weighed item."""
        previous = ""
        for opcode, argument, position in pickletools.genops(content):
            self._count += 1
            if self._count > _MOST_OPCODES or position is None:
                return
            name = opcode.name
            if self._marks and (weighed := self._marks[-1][1]) is not None:
                self._note(weighed, name, argument, position)
                if name in {"SETITEMS", "APPENDS"}:
                    yield from self._items(weighed, position)
            self._apply(opcode, argument, previous)
            previous = name

    def _note(self, weighed: _Weighed, name: str, argument: Any, position: int) -> None:
        index, inside = divmod(len(self._stack) - weighed.base, weighed.width)
        if inside:
            return
        # Anything may still be done to the item before: the last time that the stack is so high, the next begins.
        weighed.starts[index] = position
        if len(self._marks) == 1 and (argument if name in _STRINGS else None) == self._outermost:
            weighed.key_at = index

    def _items(self, weighed: _Weighed, end: int) -> Iterator[tuple[int, int]]:
        count = (len(self._stack) - weighed.base) // weighed.width
        bounds = [*(weighed.starts[index] for index in range(count)), end]
        for index in range(count):
            if index == weighed.key_at if len(self._marks) == 1 else index > 0:
                yield bounds[index], bounds[index + 1]

    def _apply(self, opcode: pickletools.OpcodeInfo, argument: Any, previous: str) -> None:
        stack, name = self._stack, opcode.name
        if name in _NO_EFFECT:
            return
        if name == "MARK":
            weighed = stack[-1] if stack and isinstance(stack[-1], _Weighed) else None
            if weighed is not None:
                stack[-1] = None
                weighed.base = len(stack)
            self._marks.append((len(stack), weighed))
        elif name == "MEMOIZE":
            self._memo.append(None if isinstance(stack[-1], _Weighed) else stack[-1])
        elif name in _GETS:
            stack.append(self._memo[argument])
        elif name in _STRINGS:
            stack.append(argument)
        elif name == "STACK_GLOBAL":
            stack[-2:] = [(stack[-2], stack[-1])]
        elif name == "REDUCE" and previous == "EMPTY_TUPLE" and stack[-2] in (_DICT, _LIST):
            stack[-2:] = [_Weighed(2 if stack[-2] == _DICT else 1)]
        else:
            self._pop_and_push(opcode)

    def _pop_and_push(self, opcode: pickletools.OpcodeInfo) -> None:
        pops = len(opcode.stack_before)
        if pickletools.markobject in opcode.stack_before:
            height, _ = self._marks.pop()
            del self._stack[height:]
            pops = opcode.stack_before.index(pickletools.markobject)
        if pops:
            del self._stack[-pops:]
        self._stack.extend([None] * len(opcode.stack_after))
