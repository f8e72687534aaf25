"""Where a job's ranks meet: baselines/port.py."""

from __future__ import annotations

import socket

from sennit.baselines import port


def test_what_the_system_hands_out_is_read() -> None:
    assert port.handed_out("32768\t60999\n") == range(32768, 61000)
    for text in ("", "a b", "1 2 3"):
        assert port.handed_out(text) == range(port.USUAL[0], port.USUAL[1] + 1)


def test_others_are_none_of_those() -> None:
    known = port.others(range(32768, 61000))
    assert (known[0], known[-1]) == (port.FIRST, 65535)
    assert {32767, 61000} <= set(known)
    assert not set(known) & {32768, 60999, 40000}
    assert port.others(range(1024, 65536)) == []


def test_nobody_gets_it_who_asks_for_any() -> None:
    """It is some seconds until a job's first rank listens there, and other jobs' connections begin meanwhile."""
    given = port.handed_out(port.HANDED_OUT.read_text(encoding="utf-8"))
    assert all(port.free_port() not in given for _ in range(8)) or not port.others(given)


def test_one_that_is_taken_is_passed_over() -> None:
    with socket.socket() as taken, socket.socket() as other:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        other.bind(("127.0.0.1", 0))
        here, there = taken.getsockname()[1], other.getsockname()[1]
        other.close()
        assert port.free_port([here, there]) == there
        assert port.free_port([here]) not in (0, here)
        assert port.free_port([]) > 0
