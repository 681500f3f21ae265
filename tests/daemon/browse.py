"""Browses for daemons by DNS-SD in a process of its own: `python -m tests.daemon.browse INTERFACE`.

Prints a line of JSON for each service that appears, changes or goes, until stdin is closed.
"""

from __future__ import annotations

import json
import sys

from zeroconf import ServiceBrowser, ServiceListener, Zeroconf

SERVICE = "_slpstream._tcp.local."


class Printing(ServiceListener):
    """Prints events."""

    def _print(self, what: str, zc: Zeroconf, type_: str, name: str) -> None:
        info = zc.get_service_info(type_, name) if what != "gone" else None
        found = {} if info is None else {
            "port": info.port, "addresses": info.parsed_addresses(),
            "facts": {key.decode(): (value or b"").decode() for key, value in info.properties.items()},
        }  # fmt: skip
        print(json.dumps({"what": what, "name": name, **found}), flush=True)

    def add_service(self, zc: Zeroconf, type_: str, name: str) -> None:
        self._print("found", zc, type_, name)

    def update_service(self, zc: Zeroconf, type_: str, name: str) -> None:
        self._print("changed", zc, type_, name)

    def remove_service(self, zc: Zeroconf, type_: str, name: str) -> None:
        self._print("gone", zc, type_, name)


def main() -> None:
    with Zeroconf(interfaces=[sys.argv[1]]) as zc:
        ServiceBrowser(zc, SERVICE, Printing())
        sys.stdin.read()


if __name__ == "__main__":
    main()
