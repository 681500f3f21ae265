"""The messages about the games and sets of a station, in the format of Discord's webhooks. Pure.

Limits are Discord's: 2,000 characters of text. Names of players cannot mention other people, and are not taken for
markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from slpstream.formats.slippi.stream_tool_names import character_name
from slpstream.model.summary import GameSummary
from slpstream.parts.chat.template import Template

MAX_CONTENT = 2000
"""Characters as Discord counts them: those outside of the Basic Multilingual Plane count twice."""
_MARKUP = re.compile(r"([\\*_~`|>#\[\]()@<:-])")


class Templates(NamedTuple):
    """How the messages look. `link` is the address of a game, or empty."""

    game: Template
    set: Template
    link: Template
    username: str = ""
    avatar_url: str = ""


class Result(NamedTuple):
    """A game or a set that is over, in the payload of a `set` message."""

    values: Mapping[str, str | None]
    digest: str
    """Differs when the result does."""


def game_results(payload: Mapping[str, Any], summaries: Mapping[str, GameSummary]) -> dict[str, Result]:
    """The games of a set that are over and count, by game id, in order. `summaries` are those that are known."""
    found: dict[str, Result] = {}
    sides = payload["sides"]
    number = 0
    for game in payload["games"]:
        winner = game.get("winner")
        if not game["counts"] or winner is None or len(sides) != 2:
            continue
        number += 1
        game_id = game["gameId"]
        characters = _characters(game, summaries.get(game_id))
        summary = summaries.get(game_id)
        duration = game.get("durationSeconds")
        found[game_id] = Result(
            {
                **_common(payload, winner, game["score"]),
                "game": str(number),
                "game_id": game_id,
                "stage": None if summary is None else summary.place.name or None,
                "winner_character": characters[winner],
                "loser_character": characters[1 - winner],
                "stocks": _stocks(game, winner),
                "duration": None if duration is None else f"{int(duration) // 60}:{int(duration) % 60:02d}",
            },
            digest=str(winner),
        )
    return found


def set_result(payload: Mapping[str, Any]) -> Result | None:
    """The result of a set; `None` while it is not over."""
    winner, sides = payload.get("winner"), payload["sides"]
    if payload["state"] != "over" or winner is None or len(sides) != 2:
        return None
    score = [side["score"] for side in sides]
    last = payload["games"][-1]["gameId"] if payload["games"] else ""
    return Result({**_common(payload, winner, score), "game_id": last}, digest=f"{winner} {score}")


def message(templates: Templates, template: Template, station: str, result: Result) -> bytes | None:
    """The body of a message; `None` if its text is empty."""
    link = templates.link.format({"station": quote(station), "game_id": result.values["game_id"]})
    text = template.format({**result.values, "station": _plain(station), "link": link})
    if not text:
        return None
    body: dict[str, Any] = {"content": shortened(text), "allowed_mentions": {"parse": []}}
    if templates.username:
        body["username"] = templates.username
    if templates.avatar_url:
        body["avatar_url"] = templates.avatar_url
    return msgspec.json.encode(body)


def shortened(text: str) -> str:
    """The text, cut after `MAX_CONTENT` characters."""
    if _length(text) <= MAX_CONTENT:
        return text
    kept, length = [], 1
    for character in text:
        length += _length(character)
        if length > MAX_CONTENT:
            break
        kept.append(character)
    return "".join(kept).rstrip("\\") + "…"


def _length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _common(payload: Mapping[str, Any], winner: int, score: list[int]) -> dict[str, str | None]:
    names = [_side_name(payload, side) for side in payload["sides"]]
    return {
        "winner": names[winner],
        "loser": names[1 - winner],
        "winner_score": str(score[winner]),
        "loser_score": str(score[1 - winner]),
        "best_of": str(payload["bestOf"]),
        "round": _plain(payload.get("round")),
        "event": _plain(payload.get("event")),
    }


def _side_name(payload: Mapping[str, Any], side: Mapping[str, Any]) -> str:
    """The names of the players of a side, or else their connect codes, or else their ports."""
    players = {player["playerIndex"]: player for player in payload["players"]}
    members = [players.get(index, {"port": index + 1}) for index in side["players"]]
    names = [each.get("name") or each.get("connectCode") or f"Player {each['port']}" for each in members]
    return _plain(" & ".join(names)) or ""


def _characters(game: Mapping[str, Any], summary: GameSummary | None) -> list[str | None]:
    """The characters of both sides; `None` unless all are known."""
    of_game = {} if summary is None else {player.index: player.character.name for player in summary.players}
    sides: list[list[str | None]] = [[], []]
    for player in game["players"]:
        name = of_game.get(player["playerIndex"]) or character_name(player.get("characterId"))
        sides[player["side"]].append(name)
    return [" & ".join(name or "" for name in names) if names and all(names) else None for names in sides]


def _stocks(game: Mapping[str, Any], winner: int) -> str | None:
    stocks = [player.get("stocks") for player in game["players"] if player["side"] == winner]
    return str(sum(stocks)) if stocks and None not in stocks else None


def _plain(text: str | None) -> str | None:
    """The text with its markup escaped, on one line."""
    return None if not text else _MARKUP.sub(r"\\\1", " ".join(text.split()))
