"""The figures of one game in a table row of `slpstream stats`, and their sums for each player."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from msgspec import UNSET

from slpstream.api import Replay
from slpstream.cli.game_text import summary_of
from slpstream.formats.slippi.stats.schema import Stats
from slpstream.model.summary import PlayerSummary

Grouping = Literal["auto", "code", "tag", "port"]


class Figures(NamedTuple):
    """Counts of one player that can be added up over several games."""

    games: int = 0
    won: int = 0
    decided: int = 0
    """The number of games with a winner."""
    kills: int = 0
    deaths: int = 0
    openings: int = 0
    punishes: int = 0
    """The number of conversions with more than one move."""
    damage: float = 0.0
    neutral_wins: float = 0
    neutral_total: float = 0
    l_cancels: int = 0
    landings: int = 0
    """The number of landings with an L-cancel, whether it was successful or not."""
    inputs: int = 0
    minutes: float = 0.0

    def plus(self, other: Figures) -> Figures:
        """Return the sums of both."""
        return Figures._make(a + b for a, b in zip(self, other, strict=True))


class PlayerRow(NamedTuple):
    """One player of a game."""

    port: int
    character: str
    name: str
    code: str
    tag: str
    won: bool
    figures: Figures

    def key(self, by: Grouping) -> str:
        """Return the key that identifies this player across games. It is empty if the replay doesn't have it."""
        keys = {"code": self.code, "tag": self.tag or self.name, "port": f"P{self.port}"}
        return keys["code"] or keys["tag"] or keys["port"] if by == "auto" else keys[by]


class GameRow(NamedTuple):
    """One game."""

    file: str
    stage: str
    duration_seconds: float | None
    reason: str
    players: list[PlayerRow]


class Summary(NamedTuple):
    """A player over all games."""

    key: str
    characters: list[tuple[str, int]]
    """The characters with their numbers of games, most played first."""
    figures: Figures


def game_row(replay: Replay, *, compat: bool = False, crew: bool = False) -> GameRow:
    """Compute the row of a replay. Raises `FormatError` or `SourceError` if it can't be read."""
    end = replay.game_end
    stats = replay.stats(compat=compat, crew=crew)
    summary = summary_of(replay.format, replay.settings, end)
    return GameRow(
        str(replay.path),
        summary.place.text,
        end.duration_seconds,
        end.reason,
        [_player_row(player, stats, summary.winners) for player in summary.players],
    )


def _player_row(player: PlayerSummary, stats: Stats, winners: Sequence[int]) -> PlayerRow:
    won = player.index in winners
    return PlayerRow(
        player.index + 1 if player.port is None else player.port,
        player.character.text,
        player.name,
        player.code,
        player.tag,
        won,
        figures_of(stats, player.index, won=won, decided=bool(winners)),
    )


def figures_of(stats: Stats, index: int, *, won: bool, decided: bool) -> Figures:
    """Return the counts of one player in one game."""
    overall = next(entry for entry in stats.overall if entry.player_index == index)
    actions = next((entry for entry in stats.action_counts if entry.player_index == index), None)
    good, bad = (0, 0) if actions is None else (actions.l_cancel_count.success, actions.l_cancel_count.fail)
    inputs = overall.input_counts.total
    return Figures(
        games=1,
        won=int(won),
        decided=int(decided),
        kills=overall.kill_count,
        deaths=sum(1 for stock in stats.stocks if stock.player_index == index and stock.end_frame is not UNSET),
        openings=overall.conversion_count,
        punishes=int(overall.successful_conversions.count or 0),
        damage=overall.total_damage,
        neutral_wins=overall.neutral_win_ratio.count or 0,
        neutral_total=overall.neutral_win_ratio.total,
        l_cancels=good,
        landings=good + bad,
        inputs=0 if inputs is UNSET else inputs,
        minutes=overall.inputs_per_minute.total,
    )


def summaries(games: Iterable[GameRow], by: Grouping) -> list[Summary]:
    """Return the players over all games, beginning with those who have the most games.

    Players without the key are counted together as one, which comes last.
    """
    sums: dict[str, Figures] = {}
    characters: dict[str, Counter[str]] = {}
    for game in games:
        for player in game.players:
            key = player.key(by)
            sums[key] = sums.get(key, Figures()).plus(player.figures)
            characters.setdefault(key, Counter())[player.character] += 1
    ordered = sorted(sums.items(), key=lambda item: (item[0] == "", -item[1].games, item[0]))
    return [Summary(key, characters[key].most_common(), figures) for key, figures in ordered]
