"""Immutable records, one a stage: `RunOptions` → `RunRequest` → `Package` → `JobSpec` → `JobRef`."""
