"""File names as a person can read them: no name of a file may break a log line."""


def printable(name: str) -> str:
    r"""Return the name with what cannot be printed escaped: undecodable bytes, line ends, control characters.

    >>> printable("bad\udcff.txt"), printable("naïve-日本.txt"), printable("two\nlines")
    ('bad\\xff.txt', 'naïve-日本.txt', 'two\\nlines')
    """
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escaped(char) for char in name)


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")
