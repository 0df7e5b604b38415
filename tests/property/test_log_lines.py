"""A log that is read in any number of broken streams has each line once."""

from hypothesis import given
from hypothesis import strategies as st

from kinetic_gke.cluster.loglines import LogPosition

TEXTS = st.text(alphabet="aä€😀 \r.Z:-0", max_size=6)
# Several lines may have one time.
LINES = st.lists(st.tuples(st.integers(0, 3), TEXTS), min_size=1, max_size=12)
# How far back it begins, how many lines it has, and in pieces of how many bytes they come.
STREAMS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6), st.integers(1, 9)), max_size=5)


def stamped(lines: list[tuple[int, str]]) -> list[tuple[int, bytes]]:
    """Return whole lines with the time at which each came."""
    at, found = 0, []
    for later, text in lines:
        at += later
        found.append((at, f"2026-11-30T02:20:00.{at:03}Z {text}\n".encode()))
    return found


@given(LINES, st.booleans(), STREAMS)
def test_each_line_comes_once_whatever_is_sent_again_and_wherever_it_is_torn(
    lines: list[tuple[int, str]], ends_open: bool, streams: list[tuple[int, int, int]]
) -> None:
    log = stamped(lines)
    if ends_open:
        log[-1] = (log[-1][0], log[-1][1].removesuffix(b"\n"))
    position, heard, reached = LogPosition(), "", 0
    for back, on, size in [*streams, (0, len(log), 7)]:
        # A stream begins with all lines of some time that was heard already, and breaks after any line.
        first = max(reached - back, 0)
        while 0 < first < len(log) and log[first][0] == log[first - 1][0]:
            first -= 1
        reached = min(max(reached, first + on), len(log))
        sent = b"".join(line for _, line in log[first:reached])
        heard += "".join(position.take(sent[at : at + size] for at in range(0, len(sent), size)))
    expected = "".join(f"{text}\n" for _, text in lines)
    assert heard == (expected.removesuffix("\n") if ends_open else expected)
