"""The address of this machine in its local network."""

from __future__ import annotations

import socket

_ELSEWHERE = "192.0.2.1"
"""A reserved address (RFC 5737). Connecting a datagram socket chooses a route and sends nothing."""


def lan_address() -> str | None:
    """Return the IPv4 address with which this machine reaches other networks; `None` without a route to them.

    Only queries the operating system, so it does not block.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((_ELSEWHERE, 9))
        except OSError:
            return None
        address: str = probe.getsockname()[0]
        return None if address == "0.0.0.0" else address
