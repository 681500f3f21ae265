"""How the figures of one player change: by week, opponent, character or stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from slpstream.api import Replay
from slpstream.formats.registry import describe
from slpstream.model.summary import GameSummary, PlayerSummary
from slpstream.parts.stats.rows import Figures, figures_of

Grouping = Literal["week", "opponent", "character", "stage"]


class TrendGame(NamedTuple):
    """One player's part of a game, with a field for each `Grouping`."""

    week: str
    """The Monday of its week, as ISO 8601. Empty if the replay has no date."""
    opponent: str
    character: str
    stage: str
    figures: Figures


class Trend(NamedTuple):
    """The games of one group."""

    group: str
    """Empty for games without this value."""
    figures: Figures


def trend_game(replay: Replay, me: frozenset[str]) -> TrendGame | None:
    """Return the part of the player whose connect code, name or tag is one of `me`, in lower case.

    Returns `None` for a game without this player, with more than one, or without stats. Raises `FormatError` or
    `SourceError` if the replay can't be read.
    """
    start, end = replay.start, replay.game_end
    summary = describe(start, end, replay.metadata)
    mine = [player for player in summary.players if names_of(player) & me]
    if len(mine) != 1:
        return None
    [player] = mine
    figures = figures_of(
        replay.stats(), player.index, won=player.index in summary.winners, decided=bool(summary.winners)
    )
    return TrendGame(
        week_of(summary.started_at), _opponents(player, summary), player.character.text, summary.place.text, figures
    )


def names_of(player: PlayerSummary) -> set[str]:
    """Return everything by which a player can be called, in lower case."""
    return {name.casefold() for name in (player.code, player.name, player.tag) if name}


def week_of(started_at: str) -> str:
    """Return the Monday of the week of a time. Empty if there is no valid time."""
    try:
        day = datetime.fromisoformat(started_at).date()
    except ValueError:
        return ""
    return (day - timedelta(days=day.weekday())).isoformat()


def trends(games: Iterable[TrendGame], by: Grouping) -> list[Trend]:
    """Return the sums of the figures of each group: weeks in their order, all others beginning with most games.

    Games without the value come last.
    """
    sums: dict[str, Figures] = {}
    for game in games:
        group: str = getattr(game, by)
        sums[group] = sums.get(group, Figures()).plus(game.figures)
    found = [Trend(group, figures) for group, figures in sums.items()]
    if by == "week":
        return sorted(found, key=lambda trend: (trend.group == "", trend.group))
    return sorted(found, key=lambda trend: (trend.group == "", -trend.figures.games, trend.group))


def _opponents(player: PlayerSummary, summary: GameSummary) -> str:
    """Return the names of the players on other sides, or their characters if they have none."""
    others: Sequence[PlayerSummary] = [
        other
        for other in summary.players
        if other.index != player.index and not (summary.is_teams and other.team == player.team)
    ]
    return ", ".join(sorted(other.code or other.shown_name or other.character.text for other in others))
