"""What every pod of a site has in common: all that a manifest needs and a job does not say."""

import attrs

from kinetic_core.wire.names import DEBUG_WAIT_S


@attrs.frozen(kw_only=True)
class Site:
    """The surroundings of a job in its cluster, complete: nothing is left to look up."""

    namespace: str
    image: str
    """URI of the image that the function runs in."""
    runner_image: str = ""
    """URI of an image to bring the runner from; empty where `image` has it."""
    installs_requirements: bool = False
    """The pod installs the job's dependency file when it starts."""
    python: str = "python3"
    """The interpreter, in either image."""
    service_account: str = ""
    """Empty for the namespace's own."""
    mounts_token: bool = False
    """Show the function its service account's token for the Kubernetes API."""
    run_as_user: int | None = None
    """User id that is not root; `None` leaves it to the image."""
    cpu: str = ""
    """Kubernetes quantity that a pod asks for; empty for what suits the accelerator."""
    memory: str = ""
    """The same."""
    ttl_s: int = 600
    """How long an ended Job stays."""
    debug_ttl_s: int = 7200
    """The same, of a job that is debugged."""
    debug_wait_s: int = DEBUG_WAIT_S
    """How long such a job waits for a debugger."""
