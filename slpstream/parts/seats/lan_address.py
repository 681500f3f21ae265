"""Find out the address of this machine in its local network."""

from __future__ import annotations

import socket

_ELSEWHERE = "192.0.2.1"
"""A reserved address (RFC 5737). Connecting a datagram socket chooses a route and sends nothing."""


def lan_address() -> str | None:
    """Return the IPv4 address that this machine uses to reach other networks, or `None` if there's no route to any.

    This doesn't block, because it only asks the operating system.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((_ELSEWHERE, 9))
        except OSError:
            return None
        address: str = probe.getsockname()[0]
        return None if address == "0.0.0.0" else address
