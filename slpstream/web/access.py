"""Access control: Host, Origin and token. Pure decisions over a request's headers.

There are two roles: *read* sees everything, *operate* also changes what is stored about a station. Reading from
loopback needs no token, unless the configuration requires one or the request came through a proxy; reading from any
other address needs one. Operating needs the operator token, if one is configured, even from loopback; otherwise it
needs what reading needs. Requests of phones for seats (*claim*) need neither: they have a token of their own, which
their endpoints check.

`Host` must be an address, `localhost` or a configured name, which defeats DNS rebinding: a page whose name was rebound
to 127.0.0.1 sends its own name. `Origin` must be the daemon's own, `file://` (sent by OBS), or a configured one. `null`
is never allowed, because any page can get it with a sandboxed frame. Only the daemon's own pages may operate or claim.
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
    """Roles that a request needs."""

    READ = "read"
    OPERATE = "operate"
    CLAIM = "claim"


class Denied(Enum):
    """Why a request is refused: HTTP status, detail, and challenge (RFC 6750), if there is one."""

    HOST = (421, "this host name is not served here", "")
    ORIGIN = (403, "this origin is not allowed", "")
    FOREIGN = (403, "only the daemon's own pages may do this", "")
    TOKEN = (401, "a token is required", 'Bearer realm="slpstream"')
    WRONG_TOKEN = (401, "the token is wrong", 'Bearer realm="slpstream", error="invalid_token"')
    OPERATOR = (403, "the operator token is required", 'Bearer realm="slpstream", error="insufficient_scope"')

    @property
    def status(self) -> int:
        """HTTP status code."""
        return self.value[0]

    @property
    def reason(self) -> str:
        """The detail of the problem, for people."""
        return self.value[1]

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the response."""
        return {"www-authenticate": self.value[2]} if self.value[2] else {}


class Access(NamedTuple):
    """The access rules of one server."""

    token: str | None = None
    operate_token: str | None = None
    require_token: bool = False
    allowed_origins: Collection[str] = ()
    allowed_hosts: Collection[str] = ()

    def check(
        self, headers: Mapping[str, str], peer: str, query_token: str | None, role: Role = Role.READ
    ) -> Denied | None:
        """Returns why the request is refused, or `None`. Header names are in lower case; `peer` is the address of the
        other end."""
        if not self._is_allowed_host(headers.get("host", "")):
            return Denied.HOST
        if not self._is_allowed_origin(headers.get("origin"), headers.get("host", "")):
            return Denied.ORIGIN
        if role in (Role.OPERATE, Role.CLAIM) and not _is_own_page(headers):
            return Denied.FOREIGN
        if role is Role.CLAIM:
            return None
        given = _given_token(headers.get("authorization", ""), query_token)
        operates, reads = _is_token(given, self.operate_token), _is_token(given, self.token)
        refused = Denied.WRONG_TOKEN if given else Denied.TOKEN
        if role is Role.OPERATE and self.operate_token is not None:
            return None if operates else Denied.OPERATOR if reads else refused
        return refused if self._needs_token(headers, peer) and not (operates or reads) else None

    def _is_allowed_host(self, host: str) -> bool:
        name = _host_name(host)
        allowed = ("", "localhost", *(allowed.lower() for allowed in self.allowed_hosts))
        return name in allowed or _is_address(name)

    def _is_allowed_origin(self, origin: str | None, host: str) -> bool:
        if origin is None or origin == _LOCAL_ORIGIN or origin in self.allowed_origins:
            return True
        return _is_own_origin(origin, host)

    def _needs_token(self, headers: Mapping[str, str], peer: str) -> bool:
        if self.require_token or any(name in headers for name in _PROXY_HEADERS):
            return True
        return not is_loopback(peer)


def is_loopback(peer: str) -> bool:
    """Whether an address of the other end is a loopback address."""
    return _is_address(peer) and ipaddress.ip_address(peer.partition("%")[0]).is_loopback


def _is_own_page(headers: Mapping[str, str]) -> bool:
    """Whether a program or one of the daemon's own pages sent the request, and not a page of another site."""
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


def _is_token(given: str, token: str | None) -> bool:
    """Compares in constant time."""
    return token is not None and hmac.compare_digest(given.encode(), token.encode())


def _host_name(host: str) -> str:
    """The name in a Host header, in lower case and without the port."""
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
