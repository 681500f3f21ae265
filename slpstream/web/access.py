"""Who may come in: Host, Origin, token. Pure decisions over a request's headers.

Loopback needs no token, unless the configuration asks for one or the request came through a proxy; every other
address needs one. `Host` must be an address, `localhost` or a configured name: a page whose name was rebound to
127.0.0.1 brings its own name. `Origin` must be the daemon's own, a local file's, or a configured one; not `null`,
which any page can have by a frame.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Collection, Mapping
from enum import Enum
from typing import NamedTuple
from urllib.parse import urlsplit

_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_LOCAL_ORIGIN = "file://"


class Denied(Enum):
    """Why a request is refused, with its HTTP status."""

    HOST = (421, "this host name is not served here")
    ORIGIN = (403, "this origin may not connect")
    TOKEN = (401, "a token is required")

    @property
    def status(self) -> int:
        """HTTP status code."""
        return self.value[0]

    @property
    def reason(self) -> str:
        """For people."""
        return self.value[1]


class Access(NamedTuple):
    """The rules of one daemon."""

    token: str | None = None
    require_token: bool = False
    allowed_origins: Collection[str] = ()
    allowed_hosts: Collection[str] = ()

    def check(self, headers: Mapping[str, str], peer: str, query_token: str | None) -> Denied | None:
        """`None` when the request may come in. Header names are in lower case; `peer` is the address of the other
        end."""
        if not self._host_is_ours(headers.get("host", "")):
            return Denied.HOST
        if not self._origin_may(headers.get("origin"), headers.get("host", "")):
            return Denied.ORIGIN
        if self._needs_token(headers, peer) and not self._token_fits(headers.get("authorization", ""), query_token):
            return Denied.TOKEN
        return None

    def _host_is_ours(self, host: str) -> bool:
        name = _host_name(host)
        allowed = ("", "localhost", *(allowed.lower() for allowed in self.allowed_hosts))
        return name in allowed or _is_address(name)

    def _origin_may(self, origin: str | None, host: str) -> bool:
        if origin is None or origin == _LOCAL_ORIGIN or origin in self.allowed_origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower() != ""

    def _needs_token(self, headers: Mapping[str, str], peer: str) -> bool:
        if self.require_token or any(name in headers for name in _PROXY_HEADERS):
            return True
        return not (_is_address(peer) and ipaddress.ip_address(peer.partition("%")[0]).is_loopback)

    def _token_fits(self, authorization: str, query_token: str | None) -> bool:
        if self.token is None:
            return False
        scheme, _, bearer = authorization.partition(" ")
        given = bearer.strip() if scheme.lower() == "bearer" else query_token or ""
        return hmac.compare_digest(given.encode(), self.token.encode())


def _host_name(host: str) -> str:
    """The name in a Host header, without the port and in lower case."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return "?"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True
