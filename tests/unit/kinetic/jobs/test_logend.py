"""The end of a log in an error: no line of it buries the others."""

from kinetic.jobs.logend import shortened


def test_ordinary_lines_stay_as_they_are() -> None:
    text = "10%\r20%\nline\r\n\n" + "x" * 2000
    assert shortened(text) == text


def test_of_a_bar_that_was_drawn_often_the_last_state_is_shown() -> None:
    bar = "\r".join(f"{percent}% |{'#' * percent}|" for percent in range(101))
    assert shortened(f"before\n{bar}\r\nafter") == f"before\n100% |{'#' * 100}|\nafter"


def test_of_a_very_long_line_both_ends_are_shown() -> None:
    shown = shortened("a" * 1_000_000 + "z" * 1_000_000)
    assert len(shown) < 2_100
    assert shown.startswith("a" * 1000 + " …(1998000 characters are left out)… z")
    assert shown.endswith("z" * 1000)
