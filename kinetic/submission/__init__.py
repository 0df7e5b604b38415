"""From a request to a running job: packaged, inspected, staged, handed to a backend."""
