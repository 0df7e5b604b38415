"""The pod side: fetches a job, runs its function, writes its result."""
