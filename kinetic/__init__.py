"""Ship a Python function to where it should run, and bring its value home."""
