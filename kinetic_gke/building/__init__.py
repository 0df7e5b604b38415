"""Making images: what is in one, what it is called, and having Google's services build it."""
