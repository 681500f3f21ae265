"""Free ports, for servers that keep their port when they are restarted, or whose port is in a configuration."""

from __future__ import annotations

import random
import socket

_PORTS = range(12_000, 32_000)
"""Below the ports that systems give to outgoing connections. One of those could be taken between two starts."""


def free_port(kind: int = socket.SOCK_STREAM) -> int:
    """Return a port of 127.0.0.1 that is not in use."""
    chance = random.SystemRandom()
    while True:
        port = chance.choice(_PORTS)
        with socket.socket(type=kind) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
