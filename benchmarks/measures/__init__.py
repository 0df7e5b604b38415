"""One module a measurement; each has `measure`, which yields what it found, a tree or a size at a time."""
