"""A port at which a job's ranks meet."""

from __future__ import annotations

import errno
import random
import socket
from collections.abc import Iterable
from pathlib import Path

HANDED_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")
USUAL = (32768, 60999)  # what Linux hands out where nothing else is set
FIRST = 10000  # well-known services lie below
TRIES = 64


def handed_out(text: str) -> range:
    """What the system gives to whoever asks for any port, as HANDED_OUT has it."""
    try:
        first, last = (int(word) for word in text.split())
    except ValueError:
        first, last = USUAL
    return range(first, last + 1)


def others(than: range) -> list[int]:
    """Ports that one gets only by their number."""
    return [port for port in range(FIRST, 65536) if port not in than]


def bound(port: int) -> int | None:
    """It, or for 0 one that the system hands out, where nobody listens there on any address."""
    with socket.socket() as one:
        try:
            one.bind(("", port))
        except OSError:
            return None
        return int(one.getsockname()[1])


def free_port(ports: Iterable[int] | None = None) -> int:
    """The first of `ports` (some at random) that nobody listens at. A job's first rank listens there seconds later:
    until then only one who names it can take it, as the system hands such ports to nobody. Where none of them is
    free, and where it hands out all, one that it hands out now. Raises OSError where there is none of those."""
    if ports is None:
        text = HANDED_OUT.read_text(encoding="utf-8") if HANDED_OUT.exists() else ""
        known = others(handed_out(text))
        ports = random.sample(known, min(TRIES, len(known)))
    for port in (*ports, 0):
        if found := bound(port):
            return found
    raise OSError(errno.EADDRINUSE, "no port is free for a job's ranks to meet; end programs that listen")
