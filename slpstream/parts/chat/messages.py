"""Messages about the games and sets of a station, in the format of Discord's webhooks.

There is a limit of 2,000 characters of text, which comes from Discord. We make sure that the name of a player can't
mention other people, and that it isn't taken for markup. This module doesn't do any I/O.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from slpstream.formats.slippi.stream_tool_names import character_name
from slpstream.model.summary import GameSummary
from slpstream.parts.chat.template import Template
from slpstream.parts.services import Meetings

MAX_CONTENT = 2000
"""Characters as Discord counts them: those outside of the Basic Multilingual Plane count twice."""
_MARKUP = re.compile(r"([\\*_~`|>#\[\]()@<:-])")


class Templates(NamedTuple):
    """How the messages should look. `link` is the address of a game, or empty if you don't want one."""

    game: Template
    set: Template
    start: Template
    link: Template
    username: str = ""
    avatar_url: str = ""


class Result(NamedTuple):
    """The values of a message: about a game or set that is over, or about earlier games."""

    values: Mapping[str, str | None]
    digest: str
    """Differs when the result does."""


def game_results(payload: Mapping[str, Any], summaries: Mapping[str, GameSummary]) -> dict[str, Result]:
    """Return those games of a set that are over and count, by game id and in order.

    Pass as many `summaries` as you know.
    """
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
    """Return the result of a set, or `None` as long as it isn't over."""
    winner, sides = payload.get("winner"), payload["sides"]
    if payload["state"] != "over" or winner is None or len(sides) != 2:
        return None
    score = [side["score"] for side in sides]
    last = payload["games"][-1]["gameId"] if payload["games"] else ""
    return Result({**_common(payload, winner, score), "game_id": last}, digest=f"{winner} {score}")


def has_begun(payload: Mapping[str, Any]) -> bool:
    """Whether a set is in its first game that counts."""
    return payload["state"] == "running" and not any(game["counts"] and "winner" in game for game in payload["games"])


def earlier_games(payload: Mapping[str, Any], meetings: Meetings) -> Result:
    """Return the earlier games of the two players of a set that has begun."""
    first, second = [_plain(name) for name in meetings.names]
    values = {
        "first": first,
        "second": second,
        **dict(zip(("first_sets", "second_sets"), map(str, meetings.sets), strict=True)),
        **dict(zip(("first_games", "second_games"), map(str, meetings.games), strict=True)),
        "best_of": str(payload["bestOf"]),
        "round": _plain(payload.get("round")),
        "event": _plain(payload.get("event")),
        "game_id": payload["setId"],
    }
    if meetings.last is not None and len(set(meetings.last.score)) == 2:
        low, high = sorted(meetings.last.score)
        is_first = meetings.last.score[0] == high
        values |= {
            "last_winner": first if is_first else second,
            "last_loser": second if is_first else first,
            "last_winner_score": str(high),
            "last_loser_score": str(low),
            "last_date": datetime.fromisoformat(meetings.last.at).astimezone().date().isoformat(),
        }
    return Result(values, digest="")


def message(templates: Templates, template: Template, station: str, result: Result) -> bytes | None:
    """Return the body of a message, or `None` if its text would be empty."""
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
    """Return the text. If it is too long, it is cut after `MAX_CONTENT` characters."""
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
    """Return the names of the players on a side. If we don't know a name, we use the connect code, or else the port."""
    players = {player["playerIndex"]: player for player in payload["players"]}
    members = [players.get(index, {"port": index + 1}) for index in side["players"]]
    names = [each.get("name") or each.get("connectCode") or f"Player {each['port']}" for each in members]
    return _plain(" & ".join(names)) or ""


def _characters(game: Mapping[str, Any], summary: GameSummary | None) -> list[str | None]:
    """Return the characters of both sides, or `None` if we don't know all of them."""
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
    """Return the text on one line, with its markup escaped."""
    return None if not text else _MARKUP.sub(r"\\\1", " ".join(text.split()))
