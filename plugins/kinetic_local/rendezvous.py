"""A rendezvous: a port of the loopback interface that only the hosts of one job can take."""

import socket

_LOOPBACK = "127.0.0.1"


class Rendezvous:
    """Holds the port without listening: who shares it listens in its place, and nobody else can have it meanwhile."""

    def __init__(self) -> None:
        """Take a free port.

        Raises:
            OSError: There is none.
        """
        self._socket = socket.socket()
        try:
            # Only processes of the same user may share it, and only those that say so too.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._socket.bind((_LOOPBACK, 0))
        except OSError:
            self._socket.close()
            raise
        self.address = f"{_LOOPBACK}:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()
