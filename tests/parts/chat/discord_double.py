"""A stand-in for a Discord webhook that refuses every request that Discord would refuse.

It imitates Discord's documentation: the limits of a message, and error 50035 for a message beyond them.
"""

from __future__ import annotations

import json
import ssl
from typing import Any

import trio

from slpstream.system.http_client import Headers, PostResponse, Target

LIMITS = {"content": 2000, "username": 80, "avatar_url": 2048}


class DiscordDouble:
    """A replacement for `post`."""

    def __init__(self) -> None:
        self.contents: list[str] = []
        """The texts of accepted messages."""

    async def __call__(
        self, target: Target, headers: Headers, body: bytes, tls: ssl.SSLContext | None, timeout_seconds: float
    ) -> PostResponse:
        await trio.lowlevel.checkpoint()
        assert {name for name, _ in headers} == {"content-type", "user-agent"}
        assert dict(headers)["content-type"] == "application/json"
        message = json.loads(body)
        if not valid(message):
            return answer(400, {"code": 50035, "message": "Invalid Form Body"})
        self.contents.append(message["content"])
        return PostResponse(204, "")


def valid(message: dict[str, Any]) -> bool:
    """Whether Discord accepts a message, and whether the message keeps names from pinging."""
    assert message.keys() <= {"allowed_mentions", *LIMITS}
    assert message["allowed_mentions"] == {"parse": []}
    return bool(message["content"].strip()) and all(
        0 < len(message[key].encode("utf-16-le")) // 2 <= limit for key, limit in LIMITS.items() if key in message
    )


def answer(status: int, body: dict[str, Any]) -> PostResponse:
    return PostResponse(status, "", json.dumps(body).encode())
