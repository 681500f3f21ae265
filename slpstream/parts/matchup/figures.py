"""Computes a matchup from the earlier sets of two people. This module doesn't do any I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from slpstream.model.messages import timestamp
from slpstream.model.summary import IndexedGame, Thing
from slpstream.parts.matchup.history import OWN_GAMES, RESULTS_SECONDS, History
from slpstream.parts.matchup.people import Person, Unknown
from slpstream.parts.matchup.schemas import (
    HeadToHead,
    MatchupPlayer,
    Meeting,
    SetResult,
    StageGames,
    StageRecord,
    Worked,
)
from slpstream.sets import Set

_MAX_RESULTS = 5
_MAX_STAGES = 6

CountOpenings = Callable[[Mapping[str, int]], tuple[float, float]]
"""Returns openings and kills of a player, whose index is passed by game id."""


class OwnGame(NamedTuple):
    """A game that counts, as one of its two players sees it."""

    game: IndexedGame
    player_index: int
    won: bool

    @property
    def character(self) -> Thing:
        """The player's character."""
        return next(player.character for player in self.game.summary.players if player.index == self.player_index)


class OwnSet(NamedTuple):
    """A set of two people, as one of them sees it."""

    found: Set
    place: int
    """The person's place among the sides."""
    began_ms: int
    games: Sequence[OwnGame]

    @property
    def score(self) -> list[int]:
        """The scores of the person and of the opponent."""
        return [self.found.sides[self.place].score, self.found.sides[1 - self.place].score]

    @property
    def is_decided(self) -> bool:
        """Whether one of them has won it."""
        return self.found.winner is not None

    @property
    def won(self) -> bool:
        """Whether the person has won it."""
        return self.found.winner == self.place


def players_of(
    people: tuple[Person, Person], history: History, before_ms: int, count_openings: CountOpenings
) -> list[MatchupPlayer]:
    """Return the results and figures of each person. Raises `Unknown` if two people seem to have the same name."""
    found = []
    for person, other, since_ms in zip(people, people[::-1], history.own_since_ms, strict=True):
        sets = list(_sets_of(person, history))
        _check_one_person(person, sets)
        shared = [each for each in sets if _is_against(other, each) and each.began_ms >= history.shared_since_ms]
        sets = [each for each in sets if each.began_ms >= since_ms]
        games = [game for each in sets for game in each.games][-OWN_GAMES:]
        lengths = [game.game.duration_seconds for game in games if game.game.duration_seconds is not None]
        openings, kills = count_openings({game.game.game_id: game.player_index for game in games})
        found.append(
            MatchupPlayer(
                name=person.name,
                code=person.code,
                results=_results(sets, before_ms),
                games=len(games),
                average_seconds=round(sum(lengths) / len(lengths), 1) if lengths else None,
                openings_per_kill=round(openings / kills, 2) if kills else None,
                stages=_stages(games),
                worked=_worked([game for each in shared for game in each.games]),
            )
        )
    return found


def head_to_head(people: tuple[Person, Person], history: History) -> HeadToHead:
    """Return how earlier games of two people against each other ended."""
    sets = [each for each in _sets_of(people[0], history) if _is_against(people[1], each)]
    sets = [each for each in sets if each.began_ms >= history.shared_since_ms]
    decided = [each for each in sets if each.is_decided]
    games = [game for each in sets for game in each.games]
    stages = Counter(game.game.summary.place for game in games if game.game.summary.place.text)
    last = sets[-1] if sets else None
    return HeadToHead(
        sets=[sum(each.won for each in decided), sum(not each.won for each in decided)],
        games=_won(games),
        limited=history.shared_since_ms > 0,
        last=None
        if last is None
        else Meeting(set_id=last.found.games[0].game_id, at=timestamp(last.began_ms / 1000), score=last.score),
        stages=[
            StageGames(stage=stage, won=_won([game for game in games if game.game.summary.place == stage]))
            for stage, _ in _most(stages)
        ],
    )


def _sets_of(person: Person, history: History) -> Iterator[OwnSet]:
    """Yield a person's sets against one other person, with at least one game that counts."""
    for found in history.sets:
        sides = found.sides
        if found.crew_battle is not None or len(sides) != 2 or any(len(side.members) != 1 for side in sides):
            continue
        places = [place for place, side in enumerate(sides) if person.is_member(side.members[0])]
        if len(places) != 1:
            continue
        games = list(_games_of(found, places[0], history))
        if games:
            began_ms = history.games[found.games[0].game_id].listed_at_ms
            yield OwnSet(found, places[0], began_ms, games)


def _games_of(found: Set, place: int, history: History) -> Iterator[OwnGame]:
    for entry in found.entries:
        humans = all(player.human for player in entry.game.players)
        if entry.judgement.counts and entry.winner is not None and humans and not entry.game.is_teams:
            side = entry.game.sides()[list(entry.places).index(place)]
            yield OwnGame(history.games[entry.game.game_id], side[0].index, entry.winner == place)


def _is_against(person: Person, each: OwnSet) -> bool:
    return person.is_member(each.found.sides[1 - each.place].members[0])


def _check_one_person(person: Person, sets: Sequence[OwnSet]) -> None:
    """Raise `Unknown` if a person without a code has played on two stations at the same time."""
    if person.code:
        return
    games = [(game.arrived_at_ms, game.duration_seconds) for each in sets for game in each.found.games]
    times = sorted((began_ms, began_ms + 1000 * (seconds or 0)) for began_ms, seconds in games if began_ms is not None)
    if any(later_ms < until_ms for (_, until_ms), (later_ms, _) in pairwise(times)):
        raise Unknown("two people seem to have the same name")


def _results(sets: Sequence[OwnSet], before_ms: int) -> list[SetResult]:
    recent = [each for each in sets if each.is_decided and each.began_ms >= before_ms - 1000 * RESULTS_SECONDS]
    return [
        SetResult(
            set_id=each.found.games[0].game_id,
            at=timestamp(each.began_ms / 1000),
            opponent=each.found.sides[1 - each.place].members[0].shown_name or "",
            score=each.score,
            won=each.won,
        )
        for each in recent[: -_MAX_RESULTS - 1 : -1]
    ]


def _stages(games: Sequence[OwnGame]) -> list[StageRecord]:
    counts = Counter(game.game.summary.place for game in games if game.game.summary.place.text)
    won = Counter(game.game.summary.place for game in games if game.won)
    return [StageRecord(stage=stage, games=count, won=won[stage]) for stage, count in _most(counts)]


def _worked(games: Sequence[OwnGame]) -> Worked | None:
    """Return the character and stage with most wins. If there are several, this prefers those with fewer games."""
    ways = Counter((game.character, game.game.summary.place) for game in games)
    won = Counter((game.character, game.game.summary.place) for game in games if game.won)
    named = [way for way in won if way[0].text and way[1].text]
    if not named:
        return None
    best = min(named, key=lambda way: (-won[way], ways[way], way[0].text, way[1].text))
    return Worked(character=best[0], stage=best[1], games=ways[best], won=won[best])


def _won(games: Sequence[OwnGame]) -> list[int]:
    """Return how many of the games the person has won, and the opponent."""
    won = sum(game.won for game in games)
    return [won, len(games) - won]


def _most(counts: Counter[Thing]) -> list[tuple[Thing, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0].text))[:_MAX_STAGES]
