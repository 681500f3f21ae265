"""A stand-in for a webhook of Discord that refuses every request that Discord would not accept.

It imitates what Discord documents: the limits of a message, error 50035 for a message beyond them, 10015 for a webhook
that was deleted, and 429 with `retry_after` in seconds. A request before that time is over fails the test.
"""

from __future__ import annotations

import json
import ssl
from typing import Any

import trio

from slpstream.model.errors import SinkError
from slpstream.outputs.post import Headers, PostResponse, Target

LIMITS = {"content": 2000, "username": 80, "avatar_url": 2048}


class DiscordDouble:
    """A replacement for `post`."""

    def __init__(self) -> None:
        self.contents: list[str] = []
        """The texts of the messages that were accepted."""
        self.requests = 0
        self.down = False
        self.deleted = False
        self.limited_seconds = 0.0
        """How long the next request is told to wait."""
        self._closed_until = 0.0

    async def __call__(
        self, target: Target, headers: Headers, body: bytes, tls: ssl.SSLContext | None, timeout_seconds: float
    ) -> PostResponse:
        await trio.lowlevel.checkpoint()
        self.requests += 1
        assert trio.current_time() >= self._closed_until, "sent before `retry_after` was over"
        if self.down:
            raise SinkError("Connection refused")
        assert {name for name, _ in headers} == {"content-type", "user-agent"}
        assert dict(headers)["content-type"] == "application/json"
        if self.deleted:
            return answer(404, {"message": "Unknown Webhook", "code": 10015})
        if self.limited_seconds:
            seconds, self.limited_seconds = self.limited_seconds, 0.0
            self._closed_until = trio.current_time() + seconds
            return answer(429, {"message": "You are being rate limited.", "retry_after": seconds, "global": False})
        message = json.loads(body)
        if not valid(message):
            return answer(400, {"code": 50035, "message": "Invalid Form Body"})
        self.contents.append(message["content"])
        return PostResponse(204, "")


def valid(message: dict[str, Any]) -> bool:
    """Whether Discord accepts a message; also whether it keeps names from pinging."""
    assert message.keys() <= {"allowed_mentions", *LIMITS}
    assert message["allowed_mentions"] == {"parse": []}
    return bool(message["content"].strip()) and all(
        0 < len(message[key].encode("utf-16-le")) // 2 <= limit for key, limit in LIMITS.items() if key in message
    )


def answer(status: int, body: dict[str, Any]) -> PostResponse:
    return PostResponse(status, "", json.dumps(body).encode())
