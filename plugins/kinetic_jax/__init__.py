"""JAX: the hosts of one job on this machine form one `jax.distributed` job."""
