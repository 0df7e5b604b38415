"""Tables: what differs among the jobs of an array, told in a few words for any number of them."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import attrs

from kinetic_core.model.job import JobSpec

_IDS: Final = 1 << 32
_PAYLOAD: Final = re.compile(r"(?P<before>.*/)(?P<number>0|[1-9]\d*)(?P<after>\.[^/]*)?")
_JOB_ID: Final = re.compile(r"job-(?P<number>[0-9a-f]{8})")
_MOST_CHARS: Final = 4000
"""Of the numbers, which every pod of the array carries."""

Frame = tuple[str, str]
"""What stands before a number, and what stands after it."""


@attrs.frozen(kw_only=True)
class Table:
    """What differs from job to job: each has a number, of which its id and its addresses are made."""

    numbers: tuple[int, ...]
    """By place in the array; ascending."""
    payload: Frame
    result: Frame
    output: Frame
    """Around a job's id; the second is empty and the first is all of it where there is none."""
    first_id: int
    """The id that a job of number 0 would have."""
    step: int
    output_id: int | None = None
    """The id in the output directory of number 0; `None` where there is none."""

    @property
    def array_id(self) -> str:
        """Return an id that is this array's alone: who submits the same jobs again gives it the same."""
        return f"array-{hashlib.sha256(self.to_json().encode()).hexdigest()[:8]}"

    def job_id(self, place: int) -> str:
        """Return the id of the job at a place."""
        return f"job-{(self.first_id + self.numbers[place] * self.step) % _IDS:08x}"

    def job_url(self, place: int) -> str:
        """Return the folder of the job at a place: the one that its result lies in."""
        return str(self.numbers[place]).join(self.result).rpartition("/")[0]

    def to_json(self) -> str:
        """Return it as the pods and other processes read it."""
        told = attrs.asdict(self) | {"numbers": ranges(self.numbers)}
        return json.dumps(told, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Table":
        """Read what `to_json` wrote."""
        raw: dict[str, Any] = json.loads(text)
        frames = {name: tuple(raw[name]) for name in ("payload", "result", "output")}
        return cls(**{**raw, **frames, "numbers": tuple(numbers_of(raw["numbers"]))})


def ranges(numbers: Iterable[int]) -> str:
    """Write ascending numbers as ranges.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0-2,5,7-8'
    """
    found = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        found.append(str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}")
    return ",".join(found)


def numbers_of(text: str) -> Iterator[int]:
    """Yield the numbers that `ranges` wrote.

    >>> list(numbers_of("0-2,5"))
    [0, 1, 2, 5]
    """
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def number_of(spec: JobSpec) -> int | None:
    """Return the number that a job has in its batch, by its payload's name; `None` where it has none."""
    found = _PAYLOAD.fullmatch(spec.payload.url)
    return None if found is None else int(found["number"])


def tables_of(specs: Sequence[JobSpec]) -> tuple[list[Table], list[JobSpec]]:
    """Return jobs as arrays, and those that are like no other.

    Args:
        specs: They differ in ids, payloads, and the places of results and output only.
    """
    kinds: dict[tuple[Frame, Frame, Frame], list[tuple[int, JobSpec]]] = {}
    alone = []
    for spec in specs:
        frames = _frames(spec)
        if frames is None:
            alone.append(spec)
        else:
            kinds.setdefault(frames[1:], []).append((frames[0], spec))
    tables = []
    for (payload, result, output), members in kinds.items():
        for chunk in _chunks(sorted(members, key=lambda one: one[0])):
            table = _table(chunk, payload, result, output)
            if table is None or len(chunk) == 1:
                alone += [spec for _, spec in chunk]
            else:
                tables.append(table)
    return tables, alone


def _frames(spec: JobSpec) -> tuple[int, Frame, Frame, Frame] | None:
    payload = _PAYLOAD.fullmatch(spec.payload.url)
    if payload is None or _JOB_ID.fullmatch(spec.job_id) is None:
        return None
    # The number begins a part of the result's path.
    before, found, after = spec.result_url.rpartition(f"/{payload['number']}")
    if not found or after[:1].isdigit():
        return None
    named = _JOB_ID.search(spec.output_dir)
    around = (
        (spec.output_dir, "") if named is None else (spec.output_dir[: named.start()], spec.output_dir[named.end() :])
    )
    return int(payload["number"]), (payload["before"], payload["after"] or ""), (f"{before}/", after), around


def _chunks(members: list[tuple[int, JobSpec]]) -> Iterator[list[tuple[int, JobSpec]]]:
    if len(ranges(number for number, _ in members)) <= _MOST_CHARS:
        yield members
        return
    middle = len(members) // 2
    yield from _chunks(members[:middle])
    yield from _chunks(members[middle:])


def _table(members: list[tuple[int, JobSpec]], payload: Frame, result: Frame, output: Frame) -> Table | None:
    """Return the table of jobs of one kind; `None` where their ids follow no rule."""
    numbers = [number for number, _ in members]
    ids = [int(spec.job_id.removeprefix("job-"), 16) for _, spec in members]
    step = _step(numbers, ids)
    named = [_JOB_ID.search(spec.output_dir) for _, spec in members]
    outputs = [int(found["number"], 16) for found in named if found is not None]
    first_id = _first(numbers, ids, step)
    output_id = _first(numbers, outputs, step) if outputs else None
    if first_id is None or (outputs and output_id is None):
        return None
    return Table(
        numbers=tuple(numbers),
        payload=payload,
        result=result,
        output=output,
        first_id=first_id,
        step=step,
        output_id=output_id,
    )


def _step(numbers: list[int], ids: list[int]) -> int:
    """Return by how much ids grow with numbers, if they do so evenly."""
    if len(numbers) == 1 or numbers[1] == numbers[0]:
        return 0
    return ((ids[1] - ids[0]) % _IDS) // (numbers[1] - numbers[0])


def _first(numbers: list[int], ids: list[int], step: int) -> int | None:
    firsts = {(one - number * step) % _IDS for number, one in zip(numbers, ids, strict=False)}
    return firsts.pop() if len(firsts) == 1 and len(set(numbers)) == len(numbers) else None
