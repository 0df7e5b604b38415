"""Python literals: a tuple stays a tuple, and sets and bytes travel."""
