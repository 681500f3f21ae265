"""Access control by Host, Origin and token.

The rules here only look at the headers of a request, and have no side effects.

There are two roles: *read* can see everything, and *operate* can also change the stored data of a station. Reading from
loopback doesn't need a token, unless the configuration requires one or the request came through a proxy. Reading from
any other address always needs one. Operating needs the operator token if there is one in the configuration, even from
loopback. Otherwise, it needs the same as reading. Then there are the requests of phones for seats (*claim*). They need
neither token, because they have separate ones, which their endpoints check.

`Host` must be an address, `localhost` or a name from the configuration. This defeats DNS rebinding: if the name of a
page was rebound to 127.0.0.1, the page still sends its own name. `Origin` must be the daemon's own, `file://` (which
OBS sends), or one from the configuration. `null` is never allowed, because any page can get it with a sandboxed frame.
Only the daemon's own pages may operate or claim.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Collection, Mapping
from enum import Enum
from typing import NamedTuple

_PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
_LOCAL_ORIGIN = "file://"
# RFC 9110, section 7.2: a host and an optional port, without user information. The brackets of an IPv6 address enclose
# all of it (RFC 3986, section 3.2.2).
_AUTHORITY = re.compile(
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%[\w.~%-]+)?)\]|(?P<name>[\w.~-]+))(?::(?P<port>[0-9]{0,5}))?", re.A
)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]+)", re.IGNORECASE)
_MAX_PORT = 0xFFFF
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Role(Enum):
    """The roles that a request can need."""

    READ = "read"
    OPERATE = "operate"
    CLAIM = "claim"


class Denied(Enum):
    """The reasons for refusing a request. Each has an HTTP status, a detail, and possibly a challenge (RFC 6750)."""

    HOST = (421, "this host name is not served here", "")
    ORIGIN = (403, "this origin is not allowed", "")
    FOREIGN = (403, "only the daemon's own pages may do this", "")
    TOKEN = (401, "a token is required", 'Bearer realm="slpstream"')
    WRONG_TOKEN = (401, "the token is wrong", 'Bearer realm="slpstream", error="invalid_token"')
    OPERATOR = (403, "the operator token is required", 'Bearer realm="slpstream", error="insufficient_scope"')

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self.value[0]

    @property
    def reason(self) -> str:
        """The detail of the problem, as a text for people."""
        return self.value[1]

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the response."""
        return {"www-authenticate": self.value[2]} if self.value[2] else {}


class Authority(NamedTuple):
    """A host with its port, if one is given."""

    host: str
    """An IPv6 address without brackets, an IPv4 address, or a name in lower case without the final dot."""
    port: int | None

    @property
    def is_address(self) -> bool:
        """Whether the host is an IP address."""
        return _is_address(self.host)


def parse_authority(text: str) -> Authority | None:
    """Parse the value of a `Host` header. Returns `None` if it is invalid."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    port = int(match["port"]) if match["port"] else None
    if port is not None and port > _MAX_PORT:
        return None
    if match["ipv6"]:
        host = match["ipv6"].lower()
        return Authority(host, port) if ":" in host and _is_address(host) else None
    name = match["name"].lower()
    # `127.0.0.1.` is a name, although some programs take it for an address.
    return Authority(name if _is_address(name.rstrip(".")) else name.removesuffix("."), port)


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
        """Return the reason for refusing the request, or `None` to admit it.

        The names of the headers are in lower case. `peer` is the address of the other end.
        """
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
        if not host:
            return True  # HTTP/1.0, or a target without an authority; browsers always send one
        found = parse_authority(host)
        if found is None:
            return False
        allowed = ("localhost", *(name.lower().removesuffix(".") for name in self.allowed_hosts))
        return found.host in allowed or found.is_address

    def _is_allowed_origin(self, origin: str | None, host: str) -> bool:
        if origin is None or origin == _LOCAL_ORIGIN or origin in self.allowed_origins:
            return True
        return _is_own_origin(origin, host)

    def _needs_token(self, headers: Mapping[str, str], peer: str) -> bool:
        if self.require_token or any(name in headers for name in _PROXY_HEADERS):
            return True
        return not is_loopback(peer)


def is_loopback(peer: str) -> bool:
    """Whether the address of the other end is a loopback address."""
    return _is_address(peer) and ipaddress.ip_address(peer).is_loopback


def _is_own_page(headers: Mapping[str, str]) -> bool:
    """Whether the request comes from a program or from one of the daemon's own pages, and not from a page of another
    site.
    """
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or _is_own_origin(origin, headers.get("host", ""))


def _is_own_origin(origin: str, host: str) -> bool:
    match = _ORIGIN.fullmatch(origin)
    if match is None:
        return False
    theirs, ours = parse_authority(match["authority"]), parse_authority(host)
    if theirs is None or ours is None:
        return False
    default = _DEFAULT_PORTS[match["scheme"].lower()]
    return (theirs.host, theirs.port or default) == (ours.host, ours.port or default)


def _given_token(authorization: str, query_token: str | None) -> str:
    scheme, _, bearer = authorization.partition(" ")
    return bearer.strip() if scheme.lower() == "bearer" else query_token or ""


def _is_token(given: str, token: str | None) -> bool:
    """Whether the given token is right. The comparison takes constant time."""
    return token is not None and hmac.compare_digest(given.encode(), token.encode())


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
