"""The fsspec store: every URL that fsspec can open."""
