"""A job as the supervisor gets it: through a pipe, because secrets stand in it."""

import marshal

LENGTH_BYTES = 8
"""How long a number says, before a job that comes over a socket, how long it is."""


class Job:
    """All that the supervisor must know; plain values only, so that a bare interpreter reads it at once."""

    __slots__ = (
        "command",
        "cpu_time_s",
        "default_signals",
        "environ",
        "folder",
        "grace_s",
        "hosts",
        "job_id",
        "limit",
        "live",
        "live_fd",
        "memory",
        "memory_bytes",
        "pod",
        "queue",
        "result",
        "retries",
        "ticket",
        "ticket_fd",
        "timeout_s",
        "venv",
        "venv_command",
        "venv_environ",
    )

    def __init__(
        self,
        *,
        job_id: str,
        command: list[str],
        default_signals: list[int],
        environ: dict[str, str],
        folder: str,
        pod: str,
        live: str,
        live_fd: int,
        queue: str,
        ticket: str,
        ticket_fd: int,
        limit: int,
        result: str,
        timeout_s: float | None,
        retries: int,
        grace_s: float,
        hosts: int = 1,
        memory: str = "",
        memory_bytes: int | None = None,
        cpu_time_s: float | None = None,
        venv: str = "",
        venv_command: list[str] | None = None,
        venv_environ: dict[str, str] | None = None,
    ) -> None:
        """Keep the facts.

        Args:
            job_id: Of the job.
            command: The runner's command line, without its workspace.
            default_signals: Signals that the runner must not ignore.
            environ: The runner's environment, secrets among it.
            folder: Path of the attempts' private folders, less the number of the attempt; its name is random.
            pod: The pod's folder.
            live: The file whose lock says that the supervisor lives.
            live_fd: Holds that lock.
            queue: The folder of tickets and slots.
            ticket: Name of this job's ticket.
            ticket_fd: Holds the ticket's lock.
            limit: How many jobs may run at once.
            result: Path at which the runner leaves its result; empty where this machine cannot look.
            timeout_s: Wall-clock limit of one attempt.
            retries: Further attempts after a failure of the infrastructure.
            grace_s: Between SIGTERM and SIGKILL.
            hosts: How many runners an attempt has.
            memory: What each of its processes may have, as the user wrote it; empty for no limit.
            memory_bytes: The same as a number.
            cpu_time_s: Processor time of each of its processes; `None` for no limit.
            venv: Path of the virtual environment that it runs in; empty for none.
            venv_command: Makes that environment; the descriptor of its lock is to be added.
            venv_environ: For that command.
        """
        self.job_id = job_id
        self.command = command
        self.default_signals = default_signals
        self.environ = environ
        self.folder = folder
        self.pod = pod
        self.live = live
        self.live_fd = live_fd
        self.queue = queue
        self.ticket = ticket
        self.ticket_fd = ticket_fd
        self.limit = limit
        self.result = result
        self.timeout_s = timeout_s
        self.retries = retries
        self.grace_s = grace_s
        self.hosts = hosts
        self.memory = memory
        self.memory_bytes = memory_bytes
        self.cpu_time_s = cpu_time_s
        self.venv = venv
        self.venv_command = venv_command or []
        self.venv_environ = venv_environ or {}

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads, in an interpreter of the same version."""
        return marshal.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_bytes(cls, data: bytes) -> "Job | None":
        """Read a job; `None` when the sender died before it was whole."""
        try:
            return cls(**marshal.loads(data))  # noqa: S302 - from the client that started this process
        except (EOFError, ValueError, TypeError):
            return None
