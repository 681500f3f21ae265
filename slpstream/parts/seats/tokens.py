"""Tokens for seats: one per station, derived from a secret of the installation.

A token allows claiming seats at its station and nothing else. It is valid until the codes are renewed: that of one
station by incrementing its number, those of all stations by replacing the secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping

import msgspec

SECRET_BYTES = 32
_TOKEN_BYTES = 18


class Keys(msgspec.Struct, frozen=True):
    """The keys from which tokens are derived."""

    secret: str
    """In hexadecimal digits."""
    renewed: Mapping[str, int] = {}
    """Number of renewals of the token, by station."""


def token_of(keys: Keys, station: str) -> str:
    """The token of a station: 24 characters that need no escaping in a URL."""
    message = f"seats\0{keys.renewed.get(station, 0)}\0{station}"
    digest = hmac.digest(bytes.fromhex(keys.secret), message.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).decode()


def is_token(keys: Keys, station: str, given: str) -> bool:
    """Whether a token is the one of a station. Compares in constant time."""
    return hmac.compare_digest(given.encode(), token_of(keys, station).encode())


def renewed(keys: Keys, station: str) -> Keys:
    """The keys after the token of one station was renewed."""
    return Keys(keys.secret, {**keys.renewed, station: keys.renewed.get(station, 0) + 1})


def phone_digest(phone: str) -> str:
    """The digest of the random id of a phone, which identifies it in the seats."""
    return hashlib.sha256(b"phone\0" + phone.encode()).hexdigest()[:24]
