"""Who may come in: Host, Origin, token. Pure decisions over a request's headers.

Two roles. Who may *read* sees everything; who may *operate* also changes what is kept of a station. Loopback needs no
token to read, unless the configuration asks for one or the request came through a proxy; every other address needs
one. Operating needs the operator's token from everywhere, once there is one; without one it is as reading.

`Host` must be an address, `localhost` or a configured name: a page whose name was rebound to 127.0.0.1 brings its own
name. `Origin` must be the daemon's own, `file://` as OBS sends it, or a configured one; not `null`, which any page can
have by a frame, and which Chromium sends for pages of files. Only the daemon's own pages may operate.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Collection, Mapping
from enum import Enum
from typing import NamedTuple
from urllib.parse import urlsplit

_PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
_LOCAL_ORIGIN = "file://"


class Role(Enum):
    """What somebody wants to do."""

    READ = "read"
    OPERATE = "operate"


class Denied(Enum):
    """Why a request is refused, with its HTTP status and the challenge of RFC 6750, if there is one."""

    HOST = (421, "this host name is not served here", "")
    ORIGIN = (403, "this origin may not connect", "")
    FOREIGN = (403, "only the daemon's own pages may operate", "")
    TOKEN = (401, "a token is required", 'Bearer realm="slpstream"')
    OPERATOR = (403, "the token of operators is required", 'Bearer realm="slpstream", error="insufficient_scope"')

    @property
    def status(self) -> int:
        """HTTP status code."""
        return self.value[0]

    @property
    def reason(self) -> str:
        """For people."""
        return self.value[1]

    @property
    def headers(self) -> dict[str, str]:
        """What the answer says beside its status."""
        return {"www-authenticate": self.value[2]} if self.value[2] else {}


class Access(NamedTuple):
    """The rules of one daemon."""

    token: str | None = None
    operate_token: str | None = None
    require_token: bool = False
    allowed_origins: Collection[str] = ()
    allowed_hosts: Collection[str] = ()

    def check(
        self, headers: Mapping[str, str], peer: str, query_token: str | None, role: Role = Role.READ
    ) -> Denied | None:
        """`None` when the request may do it. Header names are in lower case; `peer` is the address of the other
        end."""
        if not self._host_is_ours(headers.get("host", "")):
            return Denied.HOST
        if not self._origin_may(headers.get("origin"), headers.get("host", "")):
            return Denied.ORIGIN
        if role is Role.OPERATE and not _is_own_page(headers):
            return Denied.FOREIGN
        given = _given_token(headers.get("authorization", ""), query_token)
        operates, reads = _same(given, self.operate_token), _same(given, self.token)
        if role is Role.OPERATE and self.operate_token is not None:
            return None if operates else Denied.OPERATOR if reads else Denied.TOKEN
        return Denied.TOKEN if self._needs_token(headers, peer) and not (operates or reads) else None

    def _host_is_ours(self, host: str) -> bool:
        name = _host_name(host)
        allowed = ("", "localhost", *(allowed.lower() for allowed in self.allowed_hosts))
        return name in allowed or _is_address(name)

    def _origin_may(self, origin: str | None, host: str) -> bool:
        if origin is None or origin == _LOCAL_ORIGIN or origin in self.allowed_origins:
            return True
        return _is_own_origin(origin, host)

    def _needs_token(self, headers: Mapping[str, str], peer: str) -> bool:
        if self.require_token or any(name in headers for name in _PROXY_HEADERS):
            return True
        return not is_loopback(peer)


def is_loopback(peer: str) -> bool:
    """Whether the address of the other end is this machine's own."""
    return _is_address(peer) and ipaddress.ip_address(peer.partition("%")[0]).is_loopback


def _is_own_page(headers: Mapping[str, str]) -> bool:
    """Whether no page of another site sends this: a program, or a page of our own."""
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or _is_own_origin(origin, headers.get("host", ""))


def _is_own_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower() != ""


def _given_token(authorization: str, query_token: str | None) -> str:
    scheme, _, bearer = authorization.partition(" ")
    return bearer.strip() if scheme.lower() == "bearer" else query_token or ""


def _same(given: str, token: str | None) -> bool:
    """In a time that does not say how much of it was right."""
    return token is not None and hmac.compare_digest(given.encode(), token.encode())


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
