"""Convert host names to the form that resolvers expect."""

from __future__ import annotations


def resolvable(host: str) -> str:
    """Encode a host name for the resolver.

    Raises `ValueError` if no resolver would look it up, for example because one of its labels is empty or too long.
    """
    return host.encode("idna").decode()
