"""Tokens for seats. There is one for each station, and all of them are derived from a secret of the installation.

If you have a token, you can claim seats at its station, but nothing else. It is valid until the codes are renewed. If
this is done for one station, we increment its number, and if it is done for all of them, we replace the secret.
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
    """Return the token of the given station. It has 24 characters, and none of them needs to be escaped in a URL."""
    message = f"seats\0{keys.renewed.get(station, 0)}\0{station}"
    digest = hmac.digest(bytes.fromhex(keys.secret), message.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).decode()


def is_token(keys: Keys, station: str, given: str) -> bool:
    """Whether a token is the right one for the given station. The comparison takes constant time."""
    return hmac.compare_digest(given.encode(), token_of(keys, station).encode())


def renewed(keys: Keys, station: str) -> Keys:
    """Return the keys after the token of one station was renewed."""
    return Keys(keys.secret, {**keys.renewed, station: keys.renewed.get(station, 0) + 1})


def phone_digest(phone: str) -> str:
    """Return the digest of the given phone's random id. We use this to identify the phone in the seats."""
    return hashlib.sha256(b"phone\0" + phone.encode()).hexdigest()[:24]
