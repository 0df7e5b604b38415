"""The `gitignore` dialect: keep out of the archive what git keeps out of the repository."""
