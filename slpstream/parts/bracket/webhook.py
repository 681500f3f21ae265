"""A webhook that you can use instead of a bracket. The result of each set is posted as JSON, and signed in the same way
as for other webhooks.

We store a result before we post it, and then post it until it is accepted. If an answer gets lost, we post the result
again, with the same `Idempotency-Key`.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from slpstream.model.errors import SinkError
from slpstream.model.version import __version__
from slpstream.parts.bracket.interface import (
    BracketKind,
    BracketSet,
    Connection,
    Outcome,
    Refusal,
    Refused,
    Report,
)

_REFUSALS: Final[Mapping[int, Refusal]] = {401: "forbidden", 403: "forbidden", 404: "forbidden", 429: "slow_down"}
_TEMPORARY: Final = frozenset({408, 425})


class WebhookResults:
    """Posts results to one URL."""

    def __init__(self, connection: Connection, wall_clock: Callable[[], float] = time.time) -> None:
        self._connection = connection
        self._wall_clock = wall_clock

    def rendered(self, report: Report) -> Mapping[str, Any]:
        """Return the body that the request would have."""
        return self._body(report, correction=False)

    async def report(self, report: Report) -> Outcome:
        """Post a result."""
        return await self._post(self._body(report, correction=False))

    async def correct(self, report: Report, over: BracketSet | None, *, reset_dependents: bool) -> Outcome:
        """Post a result that replaces one which was posted before."""
        return await self._post(self._body(report, correction=True))

    def _body(self, report: Report, *, correction: bool) -> dict[str, Any]:
        return {
            "type": "result",
            "station": report.station,
            "setId": report.played_id,
            "correction": correction,
            "sides": [
                {"name": name, "score": score} for name, score in zip(report.names, report.score, strict=True)
            ],
            "winner": report.winner,
            "games": [
                {
                    "winner": game.winner,
                    "stocks": list(game.stocks),
                    "stageId": game.stage_id,
                    "players": [{"side": side, "characterId": character} for side, character in game.characters],
                }
                for game in report.games or ()
            ],
        }  # fmt: skip

    async def _post(self, content: Mapping[str, Any]) -> Outcome:
        body = msgspec.json.encode(content)
        now = int(self._wall_clock())
        try:
            secret = (await self._connection.secret()).encode()
        except SinkError as error:
            raise Refused("forbidden", error.what) from None
        headers = [
            ("content-type", "application/json"),
            ("user-agent", f"slpstream/{__version__}"),
            ("idempotency-key", f"{content['setId']}/{hashlib.sha256(body).hexdigest()[:32]}"),
            ("x-slpstream-event", "result"),
            ("x-slpstream-timestamp", str(now)),
            ("x-slpstream-signature", self._connection.sign(secret, now, body)),
        ]
        try:
            answer = await self._connection.request("POST", self._connection.url, headers, body)
        except SinkError as error:
            raise Refused("unavailable", error.what) from None
        if 200 <= answer.status < 300:
            return Outcome()
        own_fault = 400 <= answer.status < 500 and answer.status not in _TEMPORARY
        kind = _REFUSALS.get(answer.status, "unknown" if own_fault else "unavailable")
        seconds = float(answer.retry_after) if re.fullmatch(r"\d{1,4}", answer.retry_after) else 0.0
        raise Refused(kind, f"status {answer.status}", retry_after_seconds=seconds)


KIND: Final = BracketKind("webhook", WebhookResults, reads=False)
