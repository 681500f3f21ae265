"""Reads frames and stats from the log of a game. Both `DaemonGames` and `BrokerGames` use this."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from slpstream.model import highlight
from slpstream.model.highlight import Highlight
from slpstream.model.messages import START, LogMessage
from slpstream.stream.game import Game
from slpstream.web.games import EncodedFrames, FramesQuery
from slpstream.web.schemas import GameLinks

_HIGHLIGHT = b'"kind":"%b"' % highlight.KIND.encode()


async def read_frames(log: Game, query: FramesQuery) -> EncodedFrames:
    """Return a page of final frames.

    Raises `CursorGone` if the log doesn't have the first one, or if it cannot be read.
    """
    first = None if query.first is UNSET else query.first
    position = START if first is None else await log.log_reader.find_frame("finalized", first)
    frames: list[bytes] = []
    final = not log.in_progress
    while messages := await log.log_reader.messages("finalized", position):
        position = messages[-1].position
        for message in messages:
            number = message.frame
            if number is None or (first is not None and number < first):
                continue
            if query.last is not UNSET and number > query.last:
                return EncodedFrames(frames, None, final)
            if len(frames) >= query.limit:
                return EncodedFrames(frames, number, final)
            frames.append(_frame_of(message, None if query.fields is UNSET else query.fields))
    return EncodedFrames(frames, None, final)


def _frame_of(message: LogMessage, fields: Sequence[str] | None) -> bytes:
    return bytes(message.entry(None if fields is None else tuple(fields)))


def stats_of(message: LogMessage) -> bytes:
    """Return the JSON of the stats in a `stats` message."""
    payload = msgspec.json.decode(b"{" + message.body, type=dict[str, msgspec.Raw])
    return bytes(payload["stats"])


async def read_highlights(log: Game) -> list[Highlight]:
    """Return the highlights of a game, ordered by their ends. Raises `CursorGone` if the log can't be read."""
    found: list[Highlight] = []
    position = START
    while messages := await log.log_reader.messages("finalized", position):
        position = messages[-1].position
        found += [
            msgspec.json.decode(b"{" + message.body, type=Highlight)
            for message in messages
            if message.type == "event" and _HIGHLIGHT in message.body
        ]
    return found


def links_of(game_id: str, station: str, file_name: str | None = None) -> GameLinks:
    """Return the links of a game. `file_name` is the unique name of its replay, if it has one."""
    base = f"/v1/games/{game_id}"
    return GameLinks(
        self=base,
        frames=f"{base}/frames",
        stats=f"{base}/stats",
        replay=f"{base}/replay",
        file=None if file_name is None else f"{base}/{file_name}",
        events=f"/v1/events?station={station}&cursor={game_id}/l0.0&delivery=lossless",
    )
