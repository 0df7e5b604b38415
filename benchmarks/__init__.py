"""Measurements of this project beside its peers, and the budgets that they must keep: `nox -s bench`."""
