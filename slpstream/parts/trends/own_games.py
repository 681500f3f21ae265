"""The games of one player, in groups: by week, opponent, character and stage. This module doesn't do any I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import reduce
from typing import Literal, NamedTuple, get_args

from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts.trends.figures import Figures
from slpstream.store.game_record import folded, search_terms

Grouping = Literal["week", "opponent", "character", "against", "stage"]
"""`character` is the player's own, `against` that of the opponent."""
GROUPINGS: Sequence[Grouping] = get_args(Grouping)
Reason = Literal["notTwoPlayers", "computer", "undecided", "sameName"]
"""Why a game of the player doesn't count. `sameName`: both players have such a name."""


class Group(NamedTuple):
    """The value that all games of a row have, such as their stage."""

    key: str
    """Empty for games without this value."""
    name: str = ""
    """The name of an opponent whose key is a connect code."""
    thing: Thing | None = None
    """The character or the stage."""


class OwnGame(NamedTuple):
    """A game that counts, as the player sees it, with a field for each `Grouping`."""

    week: Group
    opponent: Group
    character: Group
    against: Group
    stage: Group
    figures: Figures


class Trend(NamedTuple):
    """The games of one group."""

    group: Group
    figures: Figures


class OwnGames:
    """The games of one player, of which those that do not count are only counted."""

    def __init__(self) -> None:
        self.games: list[OwnGame] = []
        self.left_out: Counter[Reason] = Counter()

    def total(self) -> Figures:
        """Return the sums of all games."""
        return reduce(Figures.plus, (game.figures for game in self.games), Figures())

    def by(self, grouping: Grouping) -> list[Trend]:
        """Return the sums of each group: weeks in their order, all others beginning with most games.

        Games without the value come last.
        """
        found = _summed((getattr(game, grouping), game.figures) for game in self.games)
        if grouping == "week":
            return sorted(found, key=lambda trend: (trend.group.key == "", trend.group.key))
        return sorted(found, key=lambda trend: (trend.group.key == "", -trend.figures.games, trend.group.key))


def names_folded(names: Iterable[str]) -> frozenset[str]:
    """Return connect codes, names or tags in the form in which they are compared."""
    return frozenset(folded(name) for name in names) - {""}


def sides_of(summary: GameSummary, names: frozenset[str]) -> tuple[PlayerSummary, PlayerSummary] | Reason | None:
    """Return the player with one of these names and the opponent, or the reason why a game does not count.

    Returns `None` for a game without the player.
    """
    mine = [player for player in summary.players if not names.isdisjoint(search_terms((player,)))]
    if not mine:
        return None
    if summary.is_teams or len(summary.players) != 2:
        return "notTwoPlayers"
    if not all(player.human for player in summary.players):
        return "computer"
    if len(mine) != 1:
        return "sameName"
    if summary.tied or len(summary.winners) != 1:
        return "undecided"
    [other] = [player for player in summary.players if player is not mine[0]]
    return mine[0], other


def own_game(
    sides: tuple[PlayerSummary, PlayerSummary], summary: GameSummary, day: date | None, figures: Figures
) -> OwnGame:
    """Return a game of a player and an opponent on a certain day."""
    player, other = sides
    return OwnGame(
        Group("" if day is None else week_of(day)),
        Group(other.code or other.shown_name, other.shown_name if other.code else ""),
        Group(player.character.text, thing=player.character),
        Group(other.character.text, thing=other.character),
        Group(summary.place.text, thing=summary.place),
        figures,
    )


def local_day(started_at: str) -> date | None:
    """Return the day of a time, in the time zone of this machine. A time without a zone is that of a console's clock.

    Returns `None` if there is no valid time.
    """
    try:
        moment = datetime.fromisoformat(started_at)
        return (moment if moment.tzinfo is None else moment.astimezone()).date()
    except (ValueError, OverflowError, OSError):
        return None


def week_of(day: date) -> str:
    """Return the Monday of a day's week, as ISO 8601."""
    return (day - timedelta(days=day.weekday())).isoformat()


def _summed(games: Iterable[tuple[Group, Figures]]) -> list[Trend]:
    """Return the sums of each group. Upper and lower case make no difference, and the last group is shown."""
    sums: dict[str, Trend] = {}
    for group, figures in games:
        key = folded(group.key)
        so_far = sums.get(key)
        sums[key] = Trend(group, figures if so_far is None else so_far.figures.plus(figures))
    return list(sums.values())
