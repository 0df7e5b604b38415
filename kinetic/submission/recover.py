"""When something fails half-way: name the step."""

from collections.abc import Iterator
from contextlib import contextmanager

from kinetic_core.errors import KineticError, SubmissionError


@contextmanager
def step(name: str) -> Iterator[None]:
    """Name the step in whatever fails within it; an error of ours stays what it is, with a note.

    Raises:
        SubmissionError: A foreign error, chained.
    """
    try:
        yield
    except KineticError as error:
        error.add_note(f"while submitting, at the step {name!r}")
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise SubmissionError(f"the submission failed at the step {name!r}: {text}") from error
