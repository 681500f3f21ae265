"""Host names in the form that resolvers take."""

from __future__ import annotations


def resolvable(host: str) -> str:
    """Encode a host name for the resolver. Raises `ValueError` for a name that no resolver would look up, such as one
    with an empty or overlong label."""
    return host.encode("idna").decode()
