"""A port that is free for the hosts of one job, and for nobody else."""

import socket

import pytest

from kinetic_local.rendezvous import Rendezvous


def listen(address: str, *, shares: bool) -> socket.socket:
    host, _, port = address.partition(":")
    made = socket.socket()
    try:
        if shares:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((host, int(port)))
        made.listen()
    except OSError:
        made.close()
        raise
    return made


def test_who_shares_the_port_is_the_one_that_answers_and_others_cannot_take_it() -> None:
    rendezvous = Rendezvous()
    with pytest.raises(OSError, match="in use"):
        listen(rendezvous.address, shares=False)
    with listen(rendezvous.address, shares=True) as host:
        port = int(rendezvous.address.rpartition(":")[2])
        for _ in range(8):
            with socket.create_connection(("127.0.0.1", port)), host.accept()[0]:
                pass
    rendezvous.close()


def test_a_port_that_was_given_back_is_anybodys() -> None:
    rendezvous = Rendezvous()
    rendezvous.close()
    listen(rendezvous.address, shares=False).close()


def test_no_two_have_one_port() -> None:
    several = [Rendezvous() for _ in range(16)]
    assert len({one.address for one in several}) == len(several)
    for one in several:
        one.close()


def test_a_machine_without_a_port_to_give_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetic_local.rendezvous._LOOPBACK", "192.0.2.1")
    with pytest.raises(OSError, match="assign"):
        Rendezvous()
