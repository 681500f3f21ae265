"""Find out when the sets and games of a station were played, so that we can treat them as parts of a video."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from slpstream.sets.games import PlayedGame
from slpstream.sets.grouping import Set, SetGame

Per = Literal["game", "set"]


class Clip(msgspec.Struct, frozen=True, kw_only=True):
    """A set or a game.

    Times are Unix times in milliseconds. If the daemon has seen the game arrive, they come from its own clock.
    """

    station: str
    title: str
    start_ms: int
    end_ms: int
    set_id: str
    """The id of the first game of the set."""
    game_ids: tuple[str, ...]


def clips_of(sets: Sequence[Set], station: str, per: Per) -> list[Clip]:
    """Return the clips of sets, or of their games. Only games that have ended and that count are used."""
    found: list[Clip] = []
    for each in sets:
        counted = [entry for entry in each.entries if entry.judgement.counts]
        if counted:
            parts = [counted] if per == "set" else [[entry] for entry in counted]
            numbers = [0] if per == "set" else range(1, len(counted) + 1)
            found += [_clip(each, entries, station, number) for entries, number in zip(parts, numbers, strict=True)]
    return found


def _clip(of: Set, entries: Sequence[SetGame], station: str, number: int) -> Clip:
    """Return one clip. `number` is the number of the game, or 0 if it is a whole set."""
    names = [
        " & ".join(each.shown_name or each.connect_code or f"Player {each.port}" for each in side.members)
        for side in of.sides
    ]
    title = " vs ".join(names) if of.round is None else f"{of.round}: {' vs '.join(names)}"
    games = [entry.game for entry in entries]
    return Clip(
        station=station,
        title=f"{title}, game {number}" if number else title,
        start_ms=_start_ms(games[0]),
        end_ms=max(_end_ms(game) for game in games),
        set_id=of.games[0].game_id,
        game_ids=tuple(game.game_id for game in games),
    )


def _start_ms(game: PlayedGame) -> int:
    if game.arrived_at_ms is not None:
        return game.arrived_at_ms
    length_ms = round(1000 * (game.duration_seconds or 0.0))
    return game.written_at_ms - length_ms if game.said_at_ms is None else game.said_at_ms


def _end_ms(game: PlayedGame) -> int:
    last = game.sudden_deaths[-1] if game.sudden_deaths else game
    return _start_ms(last) + round(1000 * (last.duration_seconds or 0.0))
