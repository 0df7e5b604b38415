"""What a cluster's objects say about a job: pure functions of what the API server answered."""
